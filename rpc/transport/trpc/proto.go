package trpc

import (
	"iter"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds how the Protobuf messages in frames are read and written.

// maxGroups is how deeply groups that nobody knows may be nested.
const maxGroups = 16

// fields goes over the fields of a message.
type fields struct {
	b      []byte
	pos    int
	number int32
	typ    protowire.Type
	value  uint64 // of a varint
	bytes  []byte // of bytes
	err    error  // why next has ended before the end
}

// next goes to the next field, and reports false at the end.
func (f *fields) next() bool {
	if f.pos >= len(f.b) {
		return false
	}
	var n int
	if f.number, f.typ, n = protowire.ConsumeTag(f.b[f.pos:]); n < 0 {
		return f.broken(n)
	}
	f.pos += n
	switch f.typ {
	case protowire.Varint:
		f.value, n = protowire.ConsumeVarint(f.b[f.pos:])
	case protowire.Bytes:
		f.bytes, n = protowire.ConsumeBytes(f.b[f.pos:])
	default:
		n = protowire.Skip(f.b[f.pos:], f.number, f.typ, maxGroups)
	}
	if n < 0 {
		return f.broken(n)
	}
	f.pos += n
	return true
}

func (f *fields) broken(code int) bool {
	f.err = &diag.Fault{Code: diag.InvalidHeader, Offset: f.pos, Detail: "the header is no Protobuf message", Cause: protowire.Error(code)}
	return false
}

// Pairs are keys and values in a header: a map in the message that holds it.
// The zero value has none.
type Pairs struct {
	message []byte
	field   int32
	n       int
}

// add notes an entry, which it checks.
func (p *Pairs) add(f *fields) error {
	p.message, p.field = f.b, f.number
	p.n++
	for e := (fields{b: f.bytes}); ; {
		if !e.next() {
			return e.err
		}
	}
}

// Len returns the number of entries, in which a key may stand twice.
func (p Pairs) Len() int { return p.n }

// All yields keys and values in their order. They alias the header.
func (p Pairs) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		f := fields{b: p.message}
		for p.n > 0 && f.next() {
			if f.number != p.field || f.typ != protowire.Bytes {
				continue
			}
			var key, value []byte
			for e := (fields{b: f.bytes}); e.next(); {
				switch {
				case e.typ != protowire.Bytes:
				case e.number == 1:
					key = e.bytes
				case e.number == 2:
					value = e.bytes
				}
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// appendUint appends a number unless it is 0, which stands for itself.
func appendUint(dst []byte, number int32, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.Varint), v)
}

// appendInt appends a number of 32 bits with a sign.
func appendInt(dst []byte, number int32, v int32) []byte {
	return appendUint(dst, number, uint64(int64(v)))
}

func appendText[T []byte | string](dst []byte, number int32, v T) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.Bytes), uint64(len(v)))
	return append(dst, v...)
}

func appendPairs(dst []byte, number int32, pairs []transport.Pair) []byte {
	for _, p := range pairs {
		size := protowire.SizeTag(1) + protowire.SizeBytes(len(p.Key)) + protowire.SizeTag(2) + protowire.SizeBytes(len(p.Value))
		dst = protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.Bytes), uint64(size))
		dst = protowire.AppendString(protowire.AppendTag(dst, 1, protowire.Bytes), p.Key)
		dst = protowire.AppendString(protowire.AppendTag(dst, 2, protowire.Bytes), p.Value)
	}
	return dst
}
