package dynamic

import (
	"encoding/binary"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds changing what paths lead to. A message is copied in
// stretches around what changes; counts of containers are put right in the copy.

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

func (e *editor) elements(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	t, size, n := e.proto.list(e.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	start := pos
	pos += n
	e.flush(pos)
	head := listHeader{len(e.dst) - n, n, t, size}
	if size == 0 && br.typ != nil {
		t = wireOf(br.typ.Elem())
	}
	at, count := 0, size
	for i := range br.edges {
		g := &br.edges[i]
		to := int(min(g.step.num, int64(size)))
		if to < 0 || g.step.num > int64(to) && g.step.kind != stepEnd || to == size && g.isElement() {
			if e.makes(g) {
				return start, g.located(outOfRange(start, size))
			}
			continue
		}
		var f *diag.Fault
		if pos, f = e.skip(pos, t, to-at, depth); f != nil {
			return pos, f
		}
		at = to
		switch {
		case !g.isElement():
			t, count, f = e.insert(pos, g, t, count)
		case g.next != nil:
			at++
			pos, f = e.descend(pos, t, g, depth, last && i == len(br.edges)-1)
		default:
			at++
			pos, count, f = e.setElement(pos, g, t, count, depth)
		}
		if f != nil {
			return pos, f
		}
	}
	return e.finishCount(head, t, count, pos, size-at, last, depth)
}

// isElement reports whether the edge leads to an element, not to a gap.
func (g *edge) isElement() bool { return g.step.kind != stepBefore && g.step.kind != stepEnd }

func outOfRange(pos, size int) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, pos, "the index is out of range, there are "+strconv.Itoa(size)+" elements")
}

// listHeader is a list's header as it stands in dst.
type listHeader struct {
	at, size int // its place and its length in bytes
	elem     thriftwire.Type
	count    int
}

// finishCount writes what became of a list's header and steps over the elements
// that are left.
func (e *editor) finishCount(head listHeader, t thriftwire.Type, count, pos, left int, last bool, depth int) (int, *diag.Fault) {
	if _, ok := narrow(count); !ok {
		return pos, diag.NewFault(diag.SizeLimit, pos, "more elements than a container can have")
	}
	e.recount(head, t, count)
	if last {
		return pos, nil
	}
	return e.skip(pos, t, left, depth)
}

// recount writes the header of a list that has count elements of type t now.
func (e *editor) recount(h listHeader, t thriftwire.Type, count int) {
	if e.proto == Binary {
		e.dst[h.at] = byte(t)
		binary.BigEndian.PutUint32(e.dst[h.at+1:], uint32(count))
	} else if t != h.elem || count != h.count {
		var room [6]byte
		e.replace(h.at, h.size, e.proto.appendList(room[:0], t, count))
	}
}

// insert adds the values of a gap at pos. An empty list takes the type of the
// first.
func (e *editor) insert(pos int, g *edge, t thriftwire.Type, count int) (thriftwire.Type, int, *diag.Fault) {
	e.flush(pos)
	for _, slot := range g.slots {
		x := e.at(slot)
		if !x.Exists() {
			continue
		}
		if count == 0 && g.step.typ == nil {
			t = x.typ
		}
		if f := e.accept(x, g.step.typ, t); f != nil {
			return t, count, g.located(f)
		}
		if f := e.put(x); f != nil {
			return t, count, g.located(f)
		}
		count++
	}
	return t, count, nil
}

// setElement replaces or leaves out the element of type t at pos.
func (e *editor) setElement(pos int, g *edge, t thriftwire.Type, count, depth int) (int, int, *diag.Fault) {
	end, f := e.skip(pos, t, 1, depth)
	if f != nil {
		return end, count, g.located(f)
	}
	e.flush(pos)
	e.done = end
	x := e.at(g.slots[0])
	if !x.Exists() {
		return end, count - 1, nil
	}
	f = e.accept(x, g.step.typ, t)
	if f == nil {
		f = e.put(x)
	}
	if f != nil {
		return pos, count, g.located(f)
	}
	return end, count, nil
}

func (e *editor) entries(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	key, t, size, n := e.proto.mapping(e.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	if f := br.checkKeys(pos, key, size); f != nil {
		return pos, f
	}
	pos += n
	e.flush(pos)
	h := mapHeader{at: len(e.dst) - n, size: n, key: key, elem: t, count: size, old: size}
	if size == 0 && br.typ != nil {
		h.key, h.elem = wireOf(br.typ.Key()), wireOf(br.typ.Elem())
	}
	var seen marks
	for left := len(br.edges); left > 0 && size > 0; size-- {
		var end, code int
		if e.proto == Binary {
			end, code = skipPart(e.b, pos, key, depth)
		} else {
			end, code = e.proto.dialect().SkipAt(e.b, pos, key, depth)
		}
		if code < 0 {
			return end, fault(code, end)
		}
		var f *diag.Fault
		i := br.key(e.proto, e.b, pos, end, key)
		if i < 0 || !seen.meet(i, len(br.edges)) {
			if pos, f = e.skip(end, t, 1, depth); f != nil {
				return pos, f
			}
			continue
		}
		left--
		if g := &br.edges[i]; g.next != nil {
			pos, f = e.descend(end, t, g, depth, last && left == 0)
		} else {
			pos, f = e.setEntry(pos, end, g, &h, depth)
		}
		if f != nil {
			return pos, f
		}
	}
	return e.addEntries(pos, br, &seen, &h, size, last, depth)
}

// mapHeader is a map's header as it is to be written, and its place in dst.
type mapHeader struct {
	at, size  int // where it stands in dst, and its length there in bytes
	key, elem thriftwire.Type
	count     int
	old       int // the count that stands there
}

// setEntry replaces or leaves out the entry whose key is b[pos:mid].
func (e *editor) setEntry(pos, mid int, g *edge, h *mapHeader, depth int) (int, *diag.Fault) {
	end, f := e.skip(mid, h.elem, 1, depth)
	if f != nil {
		return end, g.located(f)
	}
	x := e.at(g.slots[0])
	if !x.Exists() {
		e.flush(pos)
		e.done = end
		h.count--
		return end, nil
	}
	if f := e.accept(x, g.step.typ, h.elem); f != nil {
		return pos, g.located(f)
	}
	e.flush(mid)
	e.done = end
	if f := e.put(x); f != nil {
		return pos, g.located(f)
	}
	return end, nil
}

// addEntries steps over the entries that are left, adds those that were not
// met, and writes the header.
func (e *editor) addEntries(pos int, br *branch, seen *marks, h *mapHeader, left int, last bool, depth int) (int, *diag.Fault) {
	missing := false
	for i := range br.edges {
		missing = missing || !seen.met(i) && e.makes(&br.edges[i])
	}
	if missing || !last {
		end, code := e.proto.skipEntries(e.b, pos, h.key, h.elem, left, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		pos = end
	}
	if missing {
		e.flush(pos)
		for i := range br.edges {
			g := &br.edges[i]
			if seen.met(i) || !e.makes(g) {
				continue
			}
			if f := e.addEntry(g, h); f != nil {
				return pos, g.located(f)
			}
		}
	}
	if _, ok := narrow(h.count); !ok {
		return pos, diag.NewFault(diag.SizeLimit, pos, "more entries than a container can have")
	}
	e.recountMap(h)
	return pos, nil
}

// recountMap writes the header of a map.
func (e *editor) recountMap(h *mapHeader) {
	if e.proto == Binary {
		e.dst[h.at], e.dst[h.at+1] = byte(h.key), byte(h.elem)
		binary.BigEndian.PutUint32(e.dst[h.at+2:], uint32(h.count))
	} else if h.count != h.old {
		var room [6]byte
		e.replace(h.at, h.size, e.proto.appendMap(room[:0], h.key, h.elem, h.count))
	}
}

// addEntry adds the entry of an edge. An empty map takes its types, and its
// key's from the step if the header has none that it fits.
func (e *editor) addEntry(g *edge, h *mapHeader) *diag.Fault {
	if h.count == 0 && g.step.typ == nil {
		if !g.step.fits(h.key) {
			if h.key = g.step.keyType(); h.key == thriftwire.Stop {
				return diag.NewFault(diag.NotFound, -1, "the map is empty and does not say the type of its keys")
			}
		}
		if g.next == nil {
			h.elem = e.at(g.slots[0]).typ
		}
	}
	if !g.step.fits(h.key) {
		return diag.NewFault(diag.TypeMismatch, -1, "the map's keys have the type "+h.key.String())
	}
	if f := g.step.check(e.proto, h.key); f != nil {
		return f
	}
	e.dst = g.step.appendKey(e.proto, e.dst, h.key)
	h.count++
	return e.build(g, h.elem)
}

// keyType returns the wire type of the step's key if the step alone tells it.
func (s *Step) keyType() thriftwire.Type {
	switch s.kind {
	case stepString:
		return thriftwire.String
	case stepBool:
		return thriftwire.Bool
	case stepDouble:
		return thriftwire.Double
	case stepValue:
		return thriftwire.Type(s.num)
	default:
		return thriftwire.Stop
	}
}
