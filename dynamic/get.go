package dynamic

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds walks along one path. A walk knows its place as an index
// into the whole input and returns a code: 0, absent, or negative.

// Get returns what the path leads to; it does not exist if any step finds
// nothing. Reading stops there, so what follows in the message is not looked
// at. The result aliases n. Steps that do not fit the message are an error
// with the code TypeMismatch.
func (n Node) Get(path ...Step) (Node, error) {
	pos, t := 0, n.typ
	for i := range path {
		var code int
		if pos, t, code = path[i].find(n.proto, n.data, pos, t, maxDepth-i); code != 0 {
			if code == absent {
				return Node{}, nil
			}
			return Node{}, failed(path[:i+1], code, pos)
		}
	}
	return n.part(path, pos, t)
}

// Get is Node.Get by the schema: it takes names, it refuses steps that the
// schema does not have, and a value of another wire type than the schema's is an error.
func (v Value) Get(path ...Step) (Value, error) {
	pos, t, typ := 0, v.typ, v.schema
	for i := range path {
		s, f := path[i].resolve(typ)
		if f != nil {
			return Value{}, along(f, path[:i])
		}
		var code int
		if pos, t, code = s.find(v.proto, v.data, pos, t, maxDepth-i); code != 0 {
			if code == absent {
				return Value{}, checkSteps(path, i+1, s.typ)
			}
			return Value{}, failed(resolved(path[:i+1], v.schema), code, pos)
		}
		typ = s.typ
	}
	n, err := v.part(path, pos, t)
	if err != nil {
		_, err = v.part(resolved(path, v.schema), pos, t)
		return Value{}, err
	}
	return Value{n, typ}, nil
}

// Get is Value.Get along a path that was compiled for the type of n.
func (p *Path) Get(n Node) (Value, error) {
	if !n.Exists() || !agrees(p.from, n.typ) {
		return Value{}, p.alone.misfit(n)
	}
	pos, t := 0, n.typ
	for i := range p.steps {
		var code int
		if pos, t, code = p.steps[i].find(n.proto, n.data, pos, t, maxDepth-i); code != 0 {
			if code == absent {
				return Value{}, nil
			}
			return Value{}, failed(p.steps[:i+1], code, pos)
		}
	}
	part, err := n.part(p.steps, pos, t)
	if err != nil {
		return Value{}, err
	}
	return Value{part, p.to}, nil
}

// part cuts out the value that path led to.
func (n Node) part(path []Step, pos int, t thriftwire.Type) (Node, error) {
	if t == thriftwire.Stop {
		return Node{}, nil
	}
	var end, code int
	if n.proto == Binary {
		end, code = thriftwire.SkipAt(n.data, pos, t, maxDepth-len(path))
	} else {
		if t >= fieldFalse && len(path) > 0 {
			return n.proto.boolNode(t == fieldTrue), nil
		}
		end, code = n.proto.dialect().SkipAt(n.data, pos, t, maxDepth-len(path))
	}
	if code < 0 {
		return Node{}, failed(path, code, end)
	}
	return Node{t, true, n.proto, n.data[pos:end:end]}, nil
}

// checkSteps reports the first step from path[i:] that the schema does not
// have, where path[:i] leads to a value of type t.
func checkSteps(path []Step, i int, t *schema.Type) error {
	for ; i < len(path); i++ {
		s, f := path[i].resolve(t)
		if f != nil {
			return along(f, path[:i])
		}
		t = s.typ
	}
	return nil
}

// resolved returns the steps, which the schema has, as they lead from a value
// of type t.
func resolved(path []Step, t *schema.Type) []Step {
	steps := make([]Step, len(path))
	for i := range path {
		steps[i], _ = path[i].resolve(t)
		t = steps[i].typ
	}
	return steps
}

// failed is the error for a walk along steps that ended with a code.
func failed(steps []Step, code, at int) error {
	f := fault(code, at)
	if code == mismatch {
		f.Detail = "the step does not lead into what the message has"
		if want := steps[len(steps)-1].want; want != thriftwire.Stop {
			f.Detail = "type mismatch: the schema has " + want.String() + ", the message has not"
		}
	}
	return along(f, steps)
}

// find finds the part that the step leads to in the value of type t at
// b[pos:]: its place and type and 0, or a place and the code.
func (s *Step) find(p Protocol, b []byte, pos int, t thriftwire.Type, depth int) (at int, part thriftwire.Type, code int) {
	if depth <= 0 {
		return pos, 0, thriftwire.ErrDepth
	}
	switch {
	case s.kind == stepField && t == thriftwire.Struct:
		if p != Binary {
			return findCompactField(p, b, pos, int16(s.num), s.want, depth-1)
		}
		return findField(b, pos, uint16(s.num), s.want, depth-1)
	case s.kind >= stepString && t == thriftwire.Map:
		return s.findEntry(p, b, pos, depth-1)
	case s.kind == stepIndex && (t == thriftwire.List || t == thriftwire.Set):
		return s.findElement(p, b, pos, depth-1)
	case s.kind == stepBefore || s.kind == stepEnd:
		return pos, 0, absent
	case s.kind == stepNumber:
		exact := s.at(t)
		return exact.find(p, b, pos, t, depth)
	}
	return pos, 0, mismatch
}

// tight returns b without room behind it. The compiler then sees, where len(b)
// was compared with a place, that b from there on is not empty, and leaves out the
// mask that would keep an empty slice's pointer within b: it stands between the length of a
// string and the place of the next one, which is what walks wait for.
func tight(b []byte) []byte { return b[:len(b):len(b)] }

// findField finds the first field with that id.
func findField(b []byte, pos int, id uint16, want thriftwire.Type, depth int) (at int, t thriftwire.Type, code int) {
	b = tight(b)
	for {
		// As in thriftwire's skipping of structs: the branches are guessed.
		for len(b)-pos >= 3+8 {
			h := binary.BigEndian.Uint32(b[pos:])
			t = thriftwire.Type(h >> 24)
			if uint16(h>>8) == id && t.Valid() {
				if want != t && want != thriftwire.Stop {
					return pos, t, mismatch
				}
				return pos + 3, t, 0
			}
			if t == thriftwire.String {
				l := uint64(binary.BigEndian.Uint32(b[pos+3:]))
				if l > uint64(len(b)-pos-7) {
					_, code = thriftwire.SkipAt(b, pos+3, t, depth)
					return pos + 3, t, code
				}
				pos += 7 + int(l)
				continue
			}
			if hasParts(t) {
				if pos, code = thriftwire.SkipAt(b, pos+3, t, depth); code < 0 {
					return pos, t, code
				}
				continue
			}
			if t == thriftwire.I32 || t == thriftwire.Float {
				pos += 3 + 4
				continue
			}
			if t == thriftwire.I64 || t == thriftwire.Double {
				pos += 3 + 8
				continue
			}
			if t == thriftwire.Stop {
				return pos, 0, absent
			}
			if t == thriftwire.I8 || t == thriftwire.Bool {
				pos += 3 + 1
				continue
			}
			if t == thriftwire.I16 {
				pos += 3 + 2
				continue
			}
			break
		}
		t, fid, n := thriftwire.ConsumeField(b[pos:])
		switch {
		case n < 0:
			return pos, t, n
		case t == thriftwire.Stop:
			return pos, t, absent
		case uint16(fid) == id:
			if want != t && want != thriftwire.Stop {
				return pos, t, mismatch
			}
			return pos + 3, t, 0
		}
		if pos, code = thriftwire.SkipAt(b, pos+3, t, depth); code < 0 {
			return pos, t, code
		}
	}
}

func (s *Step) findElement(p Protocol, b []byte, pos, depth int) (at int, t thriftwire.Type, code int) {
	t, size, n := p.list(b[pos:])
	switch {
	case n < 0:
		return pos, t, n
	case size > 0 && s.want != t && s.want != thriftwire.Stop:
		return pos, t, mismatch
	case uint64(s.num) >= uint64(size):
		return pos, t, absent
	}
	at, code = p.skipElements(b, pos+n, t, int(s.num), depth)
	return at, t, code
}

// findEntry finds the value of the first entry with the step's key.
func (s *Step) findEntry(p Protocol, b []byte, pos, depth int) (at int, t thriftwire.Type, code int) {
	key, t, size, n := p.mapping(b[pos:])
	switch {
	case n < 0:
		return pos, t, n
	case size == 0:
		return pos, t, absent
	case s.want != t && s.want != thriftwire.Stop || !s.fits(key):
		return pos, t, mismatch
	}
	if p != Binary {
		return s.in(p).findCompactEntry(p, b, pos+n, key, t, size, depth)
	}
	pos += n
	if s.kind == stepString && key == thriftwire.String {
		pos, code = s.findText(tight(b), pos, t, size, depth)
		return pos, t, code
	}
	for ; size > 0; size-- {
		end, code := skipPart(b, pos, key, depth)
		if code < 0 {
			return end, t, code
		}
		if s.sameKey(b, pos, end, key) {
			return end, t, 0
		}
		if pos, code = skipPart(b, end, t, depth); code < 0 {
			return pos, t, code
		}
	}
	return pos, t, absent
}

// findText is findEntry among size entries at b[pos:] whose keys are strings
// and whose values have type t.
func (s *Step) findText(b []byte, pos int, t thriftwire.Type, size, depth int) (at, code int) {
	for ; size > 0; size-- {
		if len(b)-pos < 4 {
			return pos, thriftwire.ErrEOF
		}
		l := uint64(binary.BigEndian.Uint32(b[pos:]))
		if l > uint64(len(b)-pos-4) {
			return thriftwire.SkipAt(b, pos, thriftwire.String, depth)
		}
		key := pos + 4
		if pos = key + int(l); int(l) == len(s.text) && string(b[key:pos]) == s.text {
			return pos, 0
		}
		if t == thriftwire.Struct {
			pos, code = thriftwire.SkipAt(b, pos, t, depth)
		} else {
			pos, code = skipPart(b, pos, t, depth)
		}
		if code < 0 {
			return pos, code
		}
	}
	return pos, absent
}

// sameKey reports whether b[pos:end], a key of wire type t, is the step's.
func (s *Step) sameKey(b []byte, pos, end int, t thriftwire.Type) bool {
	switch s.kind {
	case stepString:
		if t == thriftwire.String {
			pos += 4
		}
		return string(b[pos:end]) == s.text
	case stepValue:
		return string(b[pos:end]) == s.text
	case stepDouble:
		if t == thriftwire.Float {
			f := float32(math.Float64frombits(uint64(s.num)))
			return binary.BigEndian.Uint32(b[pos:]) == math.Float32bits(f)
		}
		return binary.BigEndian.Uint64(b[pos:]) == uint64(s.num)
	case stepBool:
		return (b[pos] != 0) == (s.num != 0)
	default:
		return keyInt(b, pos, t) == s.num
	}
}

// keyInt reads an integer of wire type t that is known to be there.
func keyInt(b []byte, pos int, t thriftwire.Type) int64 {
	switch t {
	case thriftwire.I8:
		return int64(int8(b[pos]))
	case thriftwire.I16:
		return int64(int16(binary.BigEndian.Uint16(b[pos:])))
	case thriftwire.I32:
		return int64(int32(binary.BigEndian.Uint32(b[pos:])))
	default:
		return int64(binary.BigEndian.Uint64(b[pos:]))
	}
}
