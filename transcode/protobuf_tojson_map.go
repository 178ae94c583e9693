package transcode

import "github.com/thrum-rpc/thrum/wire/protowire"

// This file reads Protobuf and writes JSON: maps.

// mapping writes the name of a map and the entries that stand one after
// another, the first of them behind its tag at p.
func (w *protoToJSON) mapping(dst, in []byte, p int, f *protoField) ([]byte, int) {
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	dst = append(f.appendName(dst), '{')
	base := len(w.memory().entries)
	for {
		at, l, n := p, 0, 1
		if p < len(in) && int(in[p]) < min(0x80, len(in)-p) {
			l = int(in[p])
		} else if l, n = protowire.ConsumeLength(in[p:]); n < 0 {
			return dst, w.protoError(n, p)
		}
		if dst, p = w.entry(dst, in[:p+n+l], p+n, f); p < 0 {
			return dst, p
		}
		if len(dst) > w.limit {
			return dst, w.tooLarge(at)
		}
		if !f.follows(in, p) {
			break
		}
		p += len(f.head)
	}
	w.depth++
	if w.mem.close(&w.conv.secret, base, dst[w.base:]) >= 0 {
		return dst, w.inPieces() // of entries with one key, the last one counts
	}
	return end(dst, '}'), p
}

// The tags in an entry of a map have one byte: the number and the wire type.
const (
	keyNumber   = 1 << 3
	valueNumber = 2 << 3
)

// entry writes the entry that stands from p to the end of in as "key":value,
// with a comma. A key or value that is absent is zero.
func (w *protoToJSON) entry(dst, in []byte, p int, f *protoField) ([]byte, int) {
	at, from := p, len(dst)
	switch {
	case p >= len(in) || in[p] != keyNumber|byte(f.key.wire):
		dst = w.zeroKey(dst, &f.key)
	case f.key.kind == protoString:
		dst, p = w.text(dst, in, p+1, protoString)
	default:
		dst, p = w.key(dst, in, p+1, &f.key)
	}
	if p < 0 {
		return dst, p
	}
	w.mem.add(dst[w.base:], at, from-w.base)
	end := len(dst)
	dst = append(dst, ':')
	switch {
	case p >= len(in) || in[p] != valueNumber|byte(f.typ.wire):
		dst, p = w.zero(dst, p, &f.typ)
	case f.typ.closed:
		if _, absent := w.absentValue(in, p+1, f); absent {
			return dst, w.inPieces()
		}
		dst, p = w.value(dst, in, p+1, &f.typ)
	case f.typ.kind == protoString:
		dst, p = w.text(dst, in, p+1, protoString)
	case f.typ.kind == protoMessage && len(in)-p > 1 && int(in[p+1]) < min(0x80, len(in)-p-1):
		p += 2
		dst, p = w.message(dst, in[:p+int(in[p-1])], p, f.typ.message, 0)
	default:
		dst, p = w.value(dst, in, p+1, &f.typ)
	}
	switch {
	case p < 0:
		if w.fault != nil {
			w.fault.Key(pathKey(dst[from:end]))
		}
		return dst, p
	case p != len(in):
		return dst, w.inPieces()
	}
	return append(dst, ','), p
}
