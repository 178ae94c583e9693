package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds changing what paths lead to. A message is copied in
// stretches around what changes.

// AppendSet appends n with what the path leads to replaced by x, or deleted if x
// does not exist. See [Paths.AppendSet]; a path that is used again is better
// compiled.
func (n Node) AppendSet(dst []byte, x Node, path ...Step) ([]byte, error) {
	return Value{Node: n}.AppendSet(dst, x, path...)
}

// AppendSet is Node.AppendSet by the schema.
func (v Value) AppendSet(dst []byte, x Node, path ...Step) ([]byte, error) {
	p, err := CompileAll(v.schema, path)
	if err != nil {
		return dst, err
	}
	return p.AppendSet(dst, v.Node, []Node{x})
}

// AppendDelete appends n without what the path leads to.
func (n Node) AppendDelete(dst []byte, path ...Step) ([]byte, error) {
	return n.AppendSet(dst, Node{}, path...)
}

// AppendDelete appends v without what the path leads to.
func (v Value) AppendDelete(dst []byte, path ...Step) ([]byte, error) {
	return v.AppendSet(dst, Node{}, path...)
}

// AppendSet is Value.AppendSet along a path that was compiled for the type of n.
func (p *Path) AppendSet(dst []byte, n, x Node) ([]byte, error) {
	if !n.Exists() || !agrees(p.from, n.typ) {
		return dst, p.alone.misfit(n)
	}
	var e editor
	e.b, e.dst, e.one, e.proto = n.data, dst, x, n.proto
	return e.run(p.alone, n.typ)
}

// AppendSet appends n with what path i leads to replaced by values[i], for
// each path, in one pass. A value that does not exist deletes: a field, an
// element or an entry. dst must not overlap n or the values; after an error it
// is returned as it was.
//
//   - A field or an entry that is absent is added, at the end.
//   - What leads to it is made too, if the schema is known: structs, maps and,
//     through gaps, lists. Without a schema that is an error (NotFound).
//   - Before inserts into a list or set, End appends; several insertions in one
//     place keep the order of the paths. Indexes are those before the change.
//   - An index that the list does not have is OutOfRange, unless it deletes.
//   - A value of another protocol than n's is brought into that of n; if that has no
//     such type it is an error (Unsupported).
//   - A value of another wire type than the schema's, or than the elements
//     beside it have, is a TypeMismatch. Values are checked to be whole, and the
//     element types of a container in them against the schema, but not further down.
//
// Two paths that lead to or through the same place are an error.
func (p *Paths) AppendSet(dst []byte, n Node, values []Node) ([]byte, error) {
	switch {
	case p.overlap != nil:
		return dst, p.overlap
	case len(values) != p.Len():
		return dst, p.wrongCount(len(values))
	case !n.Exists() || !agrees(p.from, n.typ):
		return dst, p.misfit(n)
	}
	var e editor
	e.b, e.dst, e.values, e.proto = n.data, dst, values, n.proto
	return e.run(p, n.typ)
}

// editor is a message that is copied with changes.
type editor struct {
	b      []byte
	done   int // b[:done] has been copied or left out
	dst    []byte
	values []Node
	one    Node // the value if there is one path, which needs no slice
	proto  Protocol
}

// at returns the value for a path.
func (e *editor) at(slot int) *Node {
	if e.values == nil {
		return &e.one
	}
	return &e.values[slot]
}

// run copies a value of wire type t with the changes at the paths.
func (e *editor) run(p *Paths, t thriftwire.Type) ([]byte, error) {
	base := len(e.dst)
	if f := e.proto.known(); f != nil {
		return e.dst, f
	}
	if len(p.self) > 0 {
		x := e.at(p.self[0])
		f := e.accept(x, p.from, t)
		if f == nil {
			f = e.put(x)
		}
		return e.dst, asError(f)
	}
	if len(p.root.edges) > 0 {
		if _, f := e.value(0, t, p.root, maxDepth, true); f != nil {
			return e.dst[:base], f
		}
	}
	e.flush(len(e.b))
	return e.dst, nil
}

// flush copies up to pos.
func (e *editor) flush(pos int) {
	e.dst = append(e.dst, e.b[e.done:pos]...)
	e.done = pos
}

// put appends a value that was accepted, in the protocol of the message.
func (e *editor) put(x *Node) (f *diag.Fault) {
	if x.proto == e.proto {
		e.dst = append(e.dst, x.data...)
		return nil
	}
	e.dst, f = x.appendIn(e.dst, e.proto)
	return f
}

// accept checks a value that is to stand where the schema has typ, or beside
// values of type t.
func (e *editor) accept(x *Node, typ *schema.Type, t thriftwire.Type) *diag.Fault {
	if typ != nil {
		t = wireOf(typ)
	}
	if x.typ == t && x.exact && x.proto == Binary && t <= thriftwire.Struct && t != thriftwire.Stop {
		return nil // a whole value without elements
	}
	if x.typ != t {
		want := t.String()
		if typ != nil {
			want = typ.String()
		}
		return x.refused(want)
	}
	return x.whole(typ)
}

func (n Node) refused(want string) *diag.Fault {
	if !n.Exists() {
		return notFound()
	}
	return wrongType(-1, want, n.typ.String())
}

// whole checks that n is one value, with elements as the schema has them.
func (n Node) whole(typ *schema.Type) *diag.Fault {
	end, code := len(n.data), 0
	if !n.exact {
		end, code = n.proto.skipAt(n.data, 0, n.typ, maxDepth)
	}
	if n.proto.inHeader(n.typ) { // its value, which walks do not look at, may move into a header
		_, code = compact.ConsumeBool(n.data)
		code = min(code, 0)
	}
	if code == 0 && end == len(n.data) {
		if typ == nil || elementsAgree(n, typ) {
			return nil
		}
		return wrongType(-1, typ.String(), "a container with other elements")
	}
	return diag.NewFault(diag.InvalidValue, -1, "the value to set is not one whole "+n.typ.String())
}

// elementsAgree compares the element types of a whole container with the schema.
func elementsAgree(n Node, typ *schema.Type) bool {
	switch n.typ {
	case thriftwire.List, thriftwire.Set:
		t, size, _ := n.proto.list(n.data)
		return size == 0 || t == wireOf(typ.Elem())
	case thriftwire.Map:
		key, t, size, _ := n.proto.mapping(n.data)
		return size == 0 || key == wireOf(typ.Key()) && t == wireOf(typ.Elem())
	default:
		return true
	}
}

func (e *editor) value(pos int, t thriftwire.Type, br *branch, depth int, last bool) (int, *diag.Fault) {
	switch {
	case depth <= 0:
		return pos, fault(thriftwire.ErrDepth, pos)
	case !br.suits(t):
		return pos, br.misfit(pos, t)
	case t == thriftwire.Struct && e.proto != Binary:
		return e.compactStructure(pos, br, depth-1, last)
	case t == thriftwire.Struct:
		return e.structure(pos, br, depth-1, last)
	case t == thriftwire.Map:
		return e.entries(pos, br, depth-1, last)
	default:
		return e.elements(pos, br, depth-1, last)
	}
}

// descend changes what lies behind an edge to a part of type t at pos.
func (e *editor) descend(pos int, t thriftwire.Type, g *edge, depth int, last bool) (int, *diag.Fault) {
	if g.step.want != t && g.step.want != thriftwire.Stop {
		return pos, g.located(wrongType(pos, g.step.typ.String(), t.String()))
	}
	end, f := e.value(pos, t, g.next, depth, last)
	return end, g.located(f)
}

// skip steps over n values of type t.
func (e *editor) skip(pos int, t thriftwire.Type, n, depth int) (int, *diag.Fault) {
	var end, code int
	if e.proto == Binary {
		end, code = thriftwire.SkipElements(e.b, pos, t, n, depth)
	} else {
		end, code = e.proto.dialect().SkipElements(e.b, pos, t, n, depth)
	}
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

func (e *editor) structure(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	var seen marks
	for left := len(br.edges); left > 0; {
		t, at, i, code := seekField(e.b, pos, br, depth)
		if code < 0 {
			return at, fault(code, at)
		}
		if t == thriftwire.Stop {
			return at + 1, e.addFields(at, br, &seen, 0)
		}
		var f *diag.Fault
		if !seen.meet(i, len(br.edges)) {
			if pos, f = e.skip(at+3, t, 1, depth); f != nil {
				return pos, f
			}
			continue
		}
		left--
		g := &br.edges[i]
		if g.next != nil {
			pos, f = e.descend(at+3, t, g, depth, last && left == 0)
		} else {
			pos, f = e.setField(at, t, g, depth)
		}
		if f != nil {
			return pos, f
		}
	}
	if last {
		return pos, nil
	}
	return e.skip(pos, thriftwire.Struct, 1, depth+1)
}

// setField replaces or leaves out the field whose header is at pos.
func (e *editor) setField(pos int, t thriftwire.Type, g *edge, depth int) (int, *diag.Fault) {
	end, code := skipPart(e.b, pos+3, t, depth)
	if code < 0 {
		return end, g.located(fault(code, end))
	}
	e.flush(pos)
	e.done = end
	x := e.at(g.slots[0])
	if !x.Exists() {
		return end, nil
	}
	if x.proto != Binary {
		return end, g.located(e.putField(g, x, 0))
	}
	if f := e.accept(x, g.step.typ, x.typ); f != nil {
		return pos, g.located(f)
	}
	e.dst = append(thriftwire.AppendField(e.dst, x.typ, int16(g.step.num)), x.data...)
	return end, nil
}

// putField appends the field of an edge with the value x. The field before it
// has the id last.
func (e *editor) putField(g *edge, x *Node, last int16) *diag.Fault {
	if f := e.accept(x, g.step.typ, x.typ); f != nil {
		return f
	}
	if e.proto.inHeader(x.typ) {
		v, _ := x.Bool() // accept has seen that it is one
		e.dst = compact.AppendBoolField(e.dst, v, int16(g.step.num), last)
		return nil
	}
	if e.proto == Binary && x.proto == Binary {
		dst := append(e.dst, byte(x.typ), byte(g.step.num>>8), byte(g.step.num))
		e.dst = append(dst, x.data...)
		return nil
	}
	e.dst = e.proto.appendField(e.dst, x.typ, int16(g.step.num), last)
	return e.put(x)
}

// addFields adds the fields that were not met before the stop at pos. The field
// before that has the id last.
func (e *editor) addFields(pos int, br *branch, seen *marks, last int16) *diag.Fault {
	e.flush(pos)
	for i := range br.edges {
		g := &br.edges[i]
		if seen.met(i) {
			continue
		}
		var f *diag.Fault
		if g.next == nil {
			x := e.at(g.slots[0])
			if !x.Exists() {
				continue
			}
			f = e.putField(g, x, last)
		} else if !e.makes(g) {
			continue
		} else {
			e.dst = e.proto.appendField(e.dst, g.step.want, int16(g.step.num), last)
			f = e.build(g, g.step.want)
		}
		if f != nil {
			return g.located(f)
		}
		last = int16(g.step.num)
	}
	return nil
}
