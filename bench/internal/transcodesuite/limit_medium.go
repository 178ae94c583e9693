package transcodesuite

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the work on a Nesting by hand: its fields in the order of their
// ids, without white space, and without a look at keys that stand twice.

// nestingReader reads JSON. Its position is -1 after something unexpected.
type nestingReader struct {
	in, dst []byte
	p       int
}

// nestingFromJSON takes a Nesting whose members stand in order without white space.
func nestingFromJSON(dst, in []byte) ([]byte, error) {
	r := nestingReader{in: in, dst: dst}
	r.text(`{"text":`, 1)
	r.list(`,"listSimple":[`, 2, thriftwire.Struct, r.simple)
	r.double(`,"number":`, 3)
	r.number(`,"int32":`, thriftwire.I32, 4, 32)
	r.list(`,"listI32":[`, 5, thriftwire.I32, r.i32)
	r.number(`,"int64":`, thriftwire.I64, 6, 64)
	r.mapping(`,"mapStringString":{`, 7, thriftwire.String, thriftwire.String, r.string, r.string)
	r.expect(`,"simple":`)
	r.dst = append(r.dst, byte(thriftwire.Struct), 0, 8)
	r.simple()
	r.mapping(`,"mapI32I64":{`, 9, thriftwire.I32, thriftwire.I64, r.i32Key, r.i64)
	r.list(`,"listString":[`, 10, thriftwire.String, r.string)
	r.base64(`,"bytes":`, 11)
	r.mapping(`,"mapI64String":{`, 12, thriftwire.I64, thriftwire.String, r.i64Key, r.string)
	r.list(`,"listI64":[`, 13, thriftwire.I64, r.i64)
	r.number(`,"int8":`, thriftwire.I8, 14, 8)
	r.mapping(`,"mapStringSimple":{`, 15, thriftwire.String, thriftwire.Struct, r.string, r.simple)
	r.expect(`}`)
	if r.p != len(in) {
		return nil, errLimit
	}
	return append(r.dst, 0), nil
}

func (r *nestingReader) expect(word string) { r.p = expect(r.in, r.p, word) }

// at reports whether c stands at the position.
func (r *nestingReader) at(c byte) bool {
	return uint(r.p) < uint(len(r.in)) && r.in[r.p] == c
}

// integer reads an integer; the position then is after it.
func (r *nestingReader) integer(bits int) (v int64) {
	if r.p >= 0 {
		if v, r.p = jsonwire.ConsumeIntAt(r.in, r.p, bits); r.p <= 0 {
			r.p = -1
		}
	}
	return v
}

func (r *nestingReader) number(name string, t thriftwire.Type, id byte, bits int) {
	r.expect(name)
	v := r.integer(bits)
	r.dst = append(r.dst, byte(t), 0, id)
	switch bits {
	case 8:
		r.dst = append(r.dst, byte(v))
	case 32:
		r.dst = binary.BigEndian.AppendUint32(r.dst, uint32(v))
	default:
		r.dst = binary.BigEndian.AppendUint64(r.dst, uint64(v))
	}
}

func (r *nestingReader) double(name string, id byte) {
	if r.expect(name); r.p < 0 {
		return
	}
	v, p := jsonwire.ConsumeFloatAt(r.in, r.p, 64)
	if r.p = p; p <= 0 {
		r.p = -1
	}
	r.dst = binary.BigEndian.AppendUint64(append(r.dst, byte(thriftwire.Double), 0, id), math.Float64bits(v))
}

func (r *nestingReader) i32() { r.dst = binary.BigEndian.AppendUint32(r.dst, uint32(r.integer(32))) }
func (r *nestingReader) i64() { r.dst = binary.BigEndian.AppendUint64(r.dst, uint64(r.integer(64))) }

func (r *nestingReader) i32Key() { r.expect(`"`); r.i32(); r.expect(`"`) }
func (r *nestingReader) i64Key() { r.expect(`"`); r.i64(); r.expect(`"`) }

func (r *nestingReader) string() {
	if r.p < 0 {
		return
	}
	r.dst = append(r.dst, 0, 0, 0, 0)
	head := len(r.dst)
	if r.dst, r.p = jsonwire.AppendUnquotedAt(r.dst, r.in, r.p); r.p <= 0 {
		r.p = -1
	}
	binary.BigEndian.PutUint32(r.dst[head-4:], uint32(len(r.dst)-head))
}

func (r *nestingReader) text(name string, id byte) {
	r.expect(name)
	r.dst = append(r.dst, byte(thriftwire.String), 0, id)
	r.string()
}

func (r *nestingReader) base64(name string, id byte) {
	if r.expect(name); r.p < 0 {
		return
	}
	r.dst = append(r.dst, byte(thriftwire.String), 0, id, 0, 0, 0, 0)
	head := len(r.dst)
	if r.dst, r.p = jsonwire.ConsumeBase64At(r.dst, r.in, r.p, false); r.p <= 0 {
		r.p = -1
	}
	binary.BigEndian.PutUint32(r.dst[head-4:], uint32(len(r.dst)-head))
}

// simple reads a Simple.
func (r *nestingReader) simple() {
	if r.p >= 0 {
		r.dst, r.p = readSimple(r.dst, r.in, r.p)
	}
}

func (r *nestingReader) list(name string, id byte, elem thriftwire.Type, read func()) {
	r.expect(name)
	r.dst = append(r.dst, byte(thriftwire.List), 0, id, byte(elem), 0, 0, 0, 0)
	head, n := len(r.dst), uint32(0)
	for more := r.p >= 0; more; n++ {
		read()
		if more = r.at(','); more {
			r.p++
		}
	}
	r.expect(`]`)
	binary.BigEndian.PutUint32(r.dst[head-4:], n)
}

func (r *nestingReader) mapping(name string, id byte, key, elem thriftwire.Type, readKey, read func()) {
	r.expect(name)
	r.dst = append(r.dst, byte(thriftwire.Map), 0, id, byte(key), byte(elem), 0, 0, 0, 0)
	head, n := len(r.dst), uint32(0)
	for more := r.p >= 0; more; n++ {
		readKey()
		r.expect(`:`)
		read()
		if more = r.at(','); more {
			r.p++
		}
	}
	r.expect(`}`)
	binary.BigEndian.PutUint32(r.dst[head-4:], n)
}

// nestingWriter writes JSON. Its position is -1 after something unexpected.
type nestingWriter struct {
	in, dst []byte
	p       int
}

// nestingToJSON takes a Nesting whose fields stand in the order of their ids.
func nestingToJSON(dst, in []byte) ([]byte, error) {
	w := nestingWriter{in: in, dst: dst}
	w.text(`{"text":`, 1)
	w.list(`,"listSimple":[`, 2, thriftwire.Struct, w.simple)
	w.double(`,"number":`, 3)
	w.number(`,"int32":`, thriftwire.I32, 4, 4)
	w.list(`,"listI32":[`, 5, thriftwire.I32, func() { w.integer(4) })
	w.number(`,"int64":`, thriftwire.I64, 6, 8)
	w.mapping(`,"mapStringString":{`, 7, thriftwire.String, thriftwire.String, w.string, w.string)
	w.field(`,"simple":`, thriftwire.Struct, 8, 1)
	w.simple()
	w.mapping(`,"mapI32I64":{`, 9, thriftwire.I32, thriftwire.I64, func() { w.key(4) }, func() { w.integer(8) })
	w.list(`,"listString":[`, 10, thriftwire.String, w.string)
	w.base64(`,"bytes":"`, 11)
	w.mapping(`,"mapI64String":{`, 12, thriftwire.I64, thriftwire.String, func() { w.key(8) }, w.string)
	w.list(`,"listI64":[`, 13, thriftwire.I64, func() { w.integer(8) })
	w.number(`,"int8":`, thriftwire.I8, 14, 1)
	w.mapping(`,"mapStringSimple":{`, 15, thriftwire.String, thriftwire.Struct, w.string, w.simple)
	if w.p < 0 || w.p+1 != len(in) || in[w.p] != 0 {
		return nil, errLimit
	}
	return append(w.dst, '}'), nil
}

// field steps over a field's header, behind which size bytes must stand.
func (w *nestingWriter) field(name string, t thriftwire.Type, id byte, size int) {
	w.p = field(w.in, w.p, t, id, size)
	w.dst = append(w.dst, name...)
}

// integer writes an integer of that size.
func (w *nestingWriter) integer(size int) {
	if w.p < 0 || len(w.in)-w.p < size {
		w.p = -1
		return
	}
	var v int64
	switch b := w.in[w.p:]; size {
	case 1:
		v = int64(int8(b[0]))
	case 4:
		v = int64(int32(binary.BigEndian.Uint32(b)))
	default:
		v = int64(binary.BigEndian.Uint64(b))
	}
	w.dst = jsonwire.AppendInt(w.dst, v)
	w.p += size
}

func (w *nestingWriter) number(name string, t thriftwire.Type, id byte, size int) {
	w.field(name, t, id, size)
	w.integer(size)
}

func (w *nestingWriter) key(size int) {
	w.dst = append(w.dst, '"')
	w.integer(size)
	w.dst = append(w.dst, '"')
}

func (w *nestingWriter) double(name string, id byte) {
	if w.field(name, thriftwire.Double, id, 8); w.p < 0 {
		return
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(w.in[w.p:]))
	if w.p += 8; math.IsNaN(v) || math.IsInf(v, 0) {
		w.p = -1
		return
	}
	w.dst = jsonwire.AppendFloat(w.dst, v, 64)
}

// bytes steps over text and returns it.
func (w *nestingWriter) bytes() []byte {
	if w.p < 0 {
		return nil
	}
	b, n := thriftwire.ConsumeBytes(w.in[w.p:])
	if w.p += n; n < 0 {
		w.p = -1
	}
	return b
}

func (w *nestingWriter) string() {
	var ok bool
	if w.dst, ok = jsonwire.AppendQuoted(w.dst, w.bytes()); !ok {
		w.p = -1
	}
}

func (w *nestingWriter) text(name string, id byte) {
	w.field(name, thriftwire.String, id, 4)
	w.string()
}

func (w *nestingWriter) base64(name string, id byte) {
	w.field(name, thriftwire.String, id, 4)
	w.dst = append(jsonwire.AppendBase64(w.dst, w.bytes()), '"')
}

// simple writes a Simple.
func (w *nestingWriter) simple() { w.dst, w.p = writeSimple(w.dst, w.in, w.p) }

func (w *nestingWriter) list(name string, id byte, elem thriftwire.Type, write func()) {
	if w.field(name, thriftwire.List, id, 5); w.p < 0 {
		return
	}
	t, size, n := thriftwire.ConsumeList(w.in[w.p:])
	if w.p += n; n < 0 || t != elem {
		w.p = -1
		return
	}
	for i := range size {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		write()
	}
	w.dst = append(w.dst, ']')
}

func (w *nestingWriter) mapping(name string, id byte, key, elem thriftwire.Type, writeKey, write func()) {
	if w.field(name, thriftwire.Map, id, 6); w.p < 0 {
		return
	}
	k, e, size, n := thriftwire.ConsumeMap(w.in[w.p:])
	if w.p += n; n < 0 || k != key || e != elem {
		w.p = -1
		return
	}
	for i := range size {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		writeKey()
		w.dst = append(w.dst, ':')
		write()
	}
	w.dst = append(w.dst, '}')
}
