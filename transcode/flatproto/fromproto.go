package flatproto

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the way from Protobuf to FlatBuffers: tables, vectors and unions. What stands inside tables,
// numbers and structs, is in fromproto_inline.go.
//
// The fields of a message may come in any order and more than once, and a table
// is written behind its parts. So a message is scanned first, which leaves runs: rows of fields of one number.

// reader reads one input.
type reader struct {
	opt     *options
	p       flatpack.Packer
	runs    []run              // of messages that are being read, on a stack
	offsets []flatbuf.UOffsetT // of vectors that are not written yet, on a stack
	bytes   []byte             // structs and vectors of numbers that are not written yet, on a stack
	counts  []int              // elements of the arrays of structs that are being read, on a stack
}

// run is a row of fields of one number, in their message.
type run struct{ field, start, end int }

// fits refuses n bytes more than a message may have.
func (r *reader) fits(n, at int) *diag.Fault {
	if int(r.p.Builder.Offset())+n > r.opt.maxOutput {
		return diag.NewFault(diag.SizeLimit, at, fmt.Sprintf("a message of more than %d bytes", r.opt.maxOutput))
	}
	return nil
}

// faultOf returns the fault of protowire's code n at a place.
func faultOf(n, at int) *diag.Fault {
	code := diag.InvalidData
	switch n {
	case protowire.ErrEOF:
		code = diag.UnexpectedEOF
	case protowire.ErrType:
		code = diag.InvalidType
	case protowire.ErrLength:
		code = diag.InvalidLength
	case protowire.ErrDepth:
		code = diag.DepthLimit
	}
	return diag.NewFault(code, at, protowire.Describe(n))
}

// tag reads the tag at the front of a message's rest, and returns the field, or -1 for one to skip.
func (r *reader) tag(m *message, b []byte, at int) (index int, t protowire.Type, n int, fault *diag.Fault) {
	num, t, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, 0, 0, faultOf(n, at)
	}
	i, ok := m.byNumber[num]
	if ok {
		x := &m.fields[i]
		if t == x.wire || t == protowire.Bytes && x.listed && x.kind == number {
			return i, t, n, nil
		}
	}
	if r.opt.strict {
		return 0, 0, 0, diag.NewFault(diag.UnknownField, at, fmt.Sprintf("%s has no field %d of wire type %s", m.def.Name(), num, t))
	}
	return -1, t, n, nil
}

// value returns the length of the value behind a tag of n bytes.
func value(b []byte, n int, t protowire.Type, at int) (int, *diag.Fault) {
	num, _, _ := protowire.ConsumeTag(b)
	end, code := protowire.SkipAt(b, n, num, t, protowire.MaxDepth)
	if code < 0 {
		return 0, faultOf(code, at+end)
	}
	return end - n, nil
}

// scan finds the runs of a message, those of one field one after another.
func (r *reader) scan(m *message, b []byte, base int) *diag.Fault {
	mark, sorted := len(r.runs), true
	for pos := 0; pos < len(b); {
		i, t, n, fault := r.tag(m, b[pos:], base+pos)
		if fault != nil {
			return fault
		}
		size, fault := value(b[pos:], n, t, base+pos)
		if fault != nil {
			return fault
		}
		end := pos + n + size
		if i >= 0 {
			last := len(r.runs) - 1
			if last >= mark && r.runs[last].field == i && r.runs[last].end == pos {
				r.runs[last].end = end
			} else {
				sorted = sorted && (last < mark || r.runs[last].field <= i)
				r.runs = append(r.runs, run{i, pos, end})
			}
		}
		pos = end
	}
	if !sorted {
		slices.SortStableFunc(r.runs[mark:], func(x, y run) int { return x.field - y.field })
	}
	return nil
}

// rows are the runs of one field, by their indexes: runs of parts are appended meanwhile.
type rows struct{ from, to int }

// each calls f for the value of each field in rows, and with its place. The value of a
// wire type with a length has none before it.
func (r *reader) each(b []byte, rows rows, base int, f func(v []byte, t protowire.Type, at int) *diag.Fault) *diag.Fault {
	for k := rows.from; k < rows.to; k++ {
		s := r.runs[k]
		for pos := s.start; pos < s.end; {
			_, t, n := protowire.ConsumeTag(b[pos:])
			size, fault := value(b[pos:], n, t, base+pos) // which scan has seen
			if fault != nil {
				return fault
			}
			v, at := b[pos+n:pos+n+size], base+pos+n
			if t == protowire.Bytes {
				payload, _ := protowire.ConsumeBytes(v)
				at += len(v) - len(payload)
				v = payload
			}
			if fault := f(v, t, at); fault != nil {
				return fault
			}
			pos += n + size
		}
	}
	return nil
}

// table reads a message and writes it as a table. base is where it stands in the input.
func (r *reader) table(m *message, b []byte, base, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if depth > maxDepth {
		return 0, diag.NewFault(diag.DepthLimit, base, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	start, mark := len(r.runs), r.p.Start()
	if fault := r.scan(m, b, base); fault != nil {
		return 0, fault
	}
	for at, end := start, len(r.runs); at < end; {
		next := at + 1
		for next < end && r.runs[next].field == r.runs[at].field {
			next++
		}
		x := &m.fields[r.runs[at].field]
		if fault := r.field(x, b, rows{at, next}, base, depth); fault != nil {
			return 0, fault.Field(x.f.Name())
		}
		at = next
	}
	r.runs = r.runs[:start]
	for _, i := range m.required {
		if x := &m.fields[i]; !r.p.Has(int(x.f.ID())) {
			if fault := r.field(x, nil, rows{}, base, depth); fault != nil {
				return 0, fault.Field(x.f.Name())
			}
		}
	}
	if !m.strict {
		return r.p.EndTable(mark), r.fits(0, base)
	}
	if f := r.p.Missing(m.def); f != nil {
		return 0, diag.NewFault(diag.MissingRequired, base, "a required field is missing").Field(f.Name())
	}
	return r.p.EndTable(mark), r.fits(0, base)
}

// field reads what the runs of a field hold.
func (r *reader) field(x *field, b []byte, rows rows, base, depth int) *diag.Fault {
	slot, wide := int(x.f.ID()), isWide(x.f.Type())
	var off flatbuf.UOffsetT
	var fault *diag.Fault
	switch {
	case x.listed && x.kind == union:
		return r.unions(x, b, rows, base, depth)
	case x.listed && (x.kind == number || x.kind == inlined):
		off, fault = r.inlineVector(x, b, rows, base)
	case x.listed:
		off, fault = r.vector(x, b, rows, base, depth)
	case x.kind == number:
		var bits uint64
		fault = r.each(b, rows, base, func(v []byte, _ protowire.Type, at int) (fault *diag.Fault) {
			bits, _, fault = r.number(x.t, v, at)
			return fault
		})
		if fault == nil {
			r.p.Number(x.f, bits)
		}
		return fault
	case x.kind == inlined:
		return r.structField(x, b, rows, base)
	default:
		var v []byte
		var at int
		if v, at, fault = r.merged(x, b, rows, base); fault != nil {
			return fault
		}
		if x.kind == union {
			return r.union(x, v, at, depth)
		}
		if d := x.f.Default(); x.kind == text && d != nil && d.String == string(v) {
			r.p.Note(slot)
			return nil
		}
		off, fault = r.part(x, v, at, depth)
	}
	if fault == nil {
		r.p.Offset(slot, off, wide)
	}
	return fault
}

func isWide(t *schema.Type) bool {
	return t.Encoding() == schema.Offset64 || t.Encoding() == schema.Vector64
}

// merged returns the value of a singular field with a length: the last one, or of messages all of them, one behind
// another.
func (r *reader) merged(x *field, b []byte, rows rows, base int) (v []byte, at int, fault *diag.Fault) {
	n := 0
	at = base
	fault = r.each(b, rows, base, func(next []byte, _ protowire.Type, where int) *diag.Fault {
		switch {
		case n == 0 || x.kind == text || x.kind == blob:
			v, at = next, where
		case n == 1:
			v = append(slices.Clone(v), next...)
		default:
			v = append(v, next...)
		}
		n++
		return nil
	})
	return v, at, fault
}

// part writes a table, string or vector of bytes.
func (r *reader) part(x *field, v []byte, at, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if x.kind == table {
		return r.table(x.sub, v, at, depth+1)
	}
	if fault := r.fits(len(v), at); fault != nil {
		return 0, fault
	}
	if x.kind == blob {
		align := 1
		if x.f.Nested() != nil || x.f.Flex() {
			align = 8
		}
		return flatpack.Vector(r.p.Builder, v, len(v), 1, align, x.f.Type().Encoding() == schema.Vector64), nil
	}
	if !utf8.Valid(v) {
		return 0, diag.NewFault(diag.InvalidData, at, "the text is not UTF-8")
	}
	return r.p.Builder.CreateByteString(v), nil
}

// vector reads a vector of tables or strings.
func (r *reader) vector(x *field, b []byte, rows rows, base, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	start := len(r.offsets)
	i := 0
	fault := r.each(b, rows, base, func(v []byte, _ protowire.Type, at int) *diag.Fault {
		off, fault := r.part(x, v, at, depth)
		if fault == nil {
			fault = r.fits(flatbuf.SizeUOffsetT*(len(r.offsets)-start), at)
		}
		if fault != nil {
			return fault.Index(i)
		}
		i++
		r.offsets = append(r.offsets, off)
		return nil
	})
	if fault != nil {
		return 0, fault
	}
	offsets := r.offsets[start:]
	r.p.SortTables(x.t, offsets)
	off := r.p.Builder.CreateVectorOfTables(offsets)
	r.offsets = r.offsets[:start]
	return off, nil
}

// pick finds the member of a union that is set: the last one that stands in its message.
// x is nil if none does.
func (r *reader) pick(m *message, b []byte, base int) (x *field, v []byte, at int, fault *diag.Fault) {
	own := false // v is a copy, to which more can be appended
	for pos := 0; pos < len(b); {
		i, t, n, fault := r.tag(m, b[pos:], base+pos)
		if fault != nil {
			return nil, nil, 0, fault
		}
		size, fault := value(b[pos:], n, t, base+pos)
		if fault != nil {
			return nil, nil, 0, fault
		}
		if i >= 0 {
			next, where := b[pos+n:pos+n+size], base+pos+n
			payload, _ := protowire.ConsumeBytes(next)
			where += len(next) - len(payload)
			if x == &m.fields[i] && x.kind != text { // messages of one member are merged
				if !own {
					v, own = slices.Clone(v), true
				}
				v = append(v, payload...)
			} else {
				x, v, at, own = &m.fields[i], payload, where, false
			}
		}
		pos += n + size
	}
	return x, v, at, nil
}

// member writes the member of a union.
func (r *reader) member(x *field, v []byte, at, depth int) (flatbuf.UOffsetT, *diag.Fault) {
	if x.kind != inlined {
		return r.part(x, v, at, depth)
	}
	start := len(r.bytes)
	fault := r.inlined(x.sub, v, at)
	if fault == nil {
		fault = r.fits(len(r.bytes)-start, at)
	}
	if fault != nil {
		return 0, fault
	}
	off := flatpack.Inline(r.p.Builder, r.bytes[start:], x.t.InlineAlign())
	r.bytes = r.bytes[:start]
	return off, nil
}

// union reads a union, which may be NONE.
func (r *reader) union(x *field, b []byte, base, depth int) *diag.Fault {
	m, v, at, fault := r.pick(x.sub, b, base)
	if fault != nil || m == nil {
		return fault
	}
	off, fault := r.member(m, v, at, depth)
	if fault != nil {
		return fault.Field(m.f.Name())
	}
	size := x.t.Struct().Tag().InlineSize()
	r.p.Scalar(int(x.f.ID())-1, flatpack.Low(uint64(m.f.ID()), size), size)
	r.p.Offset(int(x.f.ID()), off, false)
	return nil
}

// unions reads a vector of unions.
func (r *reader) unions(x *field, b []byte, rows rows, base, depth int) *diag.Fault {
	start, size := len(r.offsets), x.t.Struct().Tag().InlineSize()
	var types []byte
	i := 0
	fault := r.each(b, rows, base, func(v []byte, _ protowire.Type, at int) *diag.Fault {
		m, v, at, fault := r.pick(x.sub, v, at)
		var off flatbuf.UOffsetT
		types = append(types, make([]byte, size)...)
		if fault == nil && m != nil {
			flatpack.Put(types[i*size:], uint64(m.f.ID()), size)
			off, fault = r.member(m, v, at, depth)
			if fault != nil {
				fault = fault.Field(m.f.Name())
			}
		}
		if fault == nil {
			fault = r.fits((flatbuf.SizeUOffsetT+size)*(len(r.offsets)-start), at)
		}
		if fault != nil {
			return fault.Index(i)
		}
		i++
		r.offsets = append(r.offsets, off)
		return nil
	})
	if fault != nil {
		return fault
	}
	flatpack.Unions(&r.p, int(x.f.ID()), types, size, r.offsets[start:])
	r.offsets = r.offsets[:start]
	return nil
}
