package interp

import (
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file sizes and encodes what most maps are without a call for each part: maps from strings
// to strings or structs, and from integers to strings or integers.

// appendText appends the entries of such a map. For any other map ok is false.
func appendText(e *encoder, b []byte, op *plan.Op, m any, depth int) (out []byte, f *diag.Fault, ok bool) {
	key, elem := &e.prog.Procs[op.A].Ops[0], &e.prog.Procs[op.B].Ops[0]
	switch m := m.(type) {
	case map[string]string:
		if e.compact != 0 {
			b, f = e.compactTextsByText(b, m)
		} else {
			b, f = e.textsByText(b, m)
		}
	case map[uint64]string:
		if key.Code != plan.I64 {
			return b, nil, false
		}
		if e.compact != 0 {
			b, f = e.compactTextsByNumber(b, m)
		} else {
			b, f = e.textsByNumber(b, m)
		}
	case map[uint32]uint64:
		if key.Code != plan.I32 || elem.Code != plan.I64 {
			return b, nil, false
		}
		if e.compact != 0 {
			return compactNumbersByNumber(b, m), nil, true
		}
		for k, v := range m {
			b = slices.Grow(b, 12)
			w := mem.Add(mem.Data(b), uintptr(len(b)))
			mem.PutBE32(w, k)
			mem.PutBE64(mem.Add(w, 4), v)
			b = b[:len(b)+12]
		}
	case map[string]mem.Pointer:
		if elem.Code != plan.Pointer {
			return b, nil, false
		}
		b, f = e.structsByText(b, m, e.prog.Procs[elem.A], depth)
	default:
		return b, nil, false
	}
	return b, f, true
}

func (e *encoder) textsByText(b []byte, m map[string]string) ([]byte, *diag.Fault) {
	for k, v := range m {
		if !e.plainText(k) || !e.plainText(v) {
			var f *diag.Fault
			if b, f = e.textEntry(b, k, v); f != nil {
				return b, f
			}
			continue
		}
		b = slices.Grow(b, 8+len(k)+len(v))
		w := mem.Add(mem.Data(b), uintptr(len(b)))
		mem.PutBE32(w, uint32(len(k)))
		mem.PutString(mem.Add(w, 4), k)
		w = mem.Add(w, uintptr(4+len(k)))
		mem.PutBE32(w, uint32(len(v)))
		if len(v) > 0 { // the address behind a full buffer is not its own
			mem.PutString(mem.Add(w, 4), v)
		}
		b = b[:len(b)+8+len(k)+len(v)]
	}
	return b, nil
}

func (e *encoder) textsByNumber(b []byte, m map[uint64]string) ([]byte, *diag.Fault) {
	for k, v := range m {
		b = slices.Grow(b, 12)
		w := mem.Add(mem.Data(b), uintptr(len(b)))
		mem.PutBE64(w, k)
		if !e.plainText(v) {
			var f *diag.Fault
			if b, f = e.bytes(b[:len(b)+8], v); f != nil {
				return b, f.Key(strconv.FormatInt(int64(k), 10))
			}
			continue
		}
		mem.PutBE32(mem.Add(w, 8), uint32(len(v)))
		b = append(b[:len(b)+12], v...)
	}
	return b, nil
}

func (e *encoder) structsByText(b []byte, m map[string]mem.Pointer, proc *plan.Proc, depth int) ([]byte, *diag.Fault) {
	for k, v := range m {
		var f *diag.Fault
		if e.compact == 0 && e.plainText(k) {
			b = thriftwire.AppendString(b, k)
		} else if b, f = e.bytes(b, k); f != nil {
			return b, f.Key("key")
		}
		if v == nil {
			b = append(b, 0)
		} else if b, f = e.structure(b, proc, v, depth); f != nil {
			return b, f.Key(strconv.Quote(k))
		}
	}
	return b, nil
}

// In the compact protocol the last entries of an exactly sized buffer have not the room that
// words of varints take, and are written part by part.

func (e *encoder) compactTextsByText(b []byte, m map[string]string) ([]byte, *diag.Fault) {
	for k, v := range m {
		if !e.plainText(k) || !e.plainText(v) || cap(b)-len(b) < 2*compactRoom+len(k)+len(v) {
			var f *diag.Fault
			if b, f = e.textEntry(b, k, v); f != nil {
				return b, f
			}
			continue
		}
		o, i := mem.Data(b), len(b)
		i += putLength(mem.Add(o, uintptr(i)), len(k))
		mem.PutString(mem.Add(o, uintptr(i)), k)
		i += len(k)
		i += putLength(mem.Add(o, uintptr(i)), len(v))
		mem.PutString(mem.Add(o, uintptr(i)), v)
		b = b[:i+len(v)]
	}
	return b, nil
}

func (e *encoder) compactTextsByNumber(b []byte, m map[uint64]string) ([]byte, *diag.Fault) {
	for k, v := range m {
		if !e.plainText(v) || cap(b)-len(b) < 2*compactRoom+len(v) {
			var f *diag.Fault
			if b, f = e.bytes(appendVarint(b, zigzag(int64(k))), v); f != nil {
				return b, f.Key(strconv.FormatInt(int64(k), 10))
			}
			continue
		}
		o, i := mem.Data(b), len(b)
		i += putVarint64(mem.Add(o, uintptr(i)), zigzag(int64(k)))
		i += putLength(mem.Add(o, uintptr(i)), len(v))
		mem.PutString(mem.Add(o, uintptr(i)), v)
		b = b[:i+len(v)]
	}
	return b, nil
}

func compactNumbersByNumber(b []byte, m map[uint32]uint64) []byte {
	for k, v := range m {
		if cap(b)-len(b) < 2*compactRoom {
			b = appendVarint(appendVarint(b, zigzag32(k)), zigzag(int64(v)))
			continue
		}
		o, i := mem.Data(b), len(b)
		i += putVarint(mem.Add(o, uintptr(i)), zigzag32(k))
		i += putVarint64(mem.Add(o, uintptr(i)), zigzag(int64(v)))
		b = b[:i]
	}
	return b
}

// textEntry appends an entry part by part.
func (e *encoder) textEntry(b []byte, k, v string) ([]byte, *diag.Fault) {
	b, f := e.bytes(b, k)
	if f != nil {
		return b, f.Key("key")
	}
	if b, f = e.bytes(b, v); f != nil {
		return b, f.Key(strconv.Quote(k))
	}
	return b, nil
}

// plainText reports whether s is copied into the message, and what it seems to be.
func (e *encoder) plainText(s string) bool {
	return len(s) < e.threshold && !suspect(len(s), mem.StringData(s))
}

// sizeText returns what the entries of such a map take beyond the procedures' bases. For any other map ok is false.
func sizeText(e *encoder, op *plan.Op, m any, depth int) (n int, f *diag.Fault, ok bool) {
	switch m := m.(type) {
	case map[string]string:
		n = 8 * len(m)
		for k, v := range m {
			n += len(k) + len(v)
		}
	case map[uint64]string:
		n = 4 * len(m)
		for _, v := range m {
			n += len(v)
		}
	case map[uint32]string:
		n = 4 * len(m)
		for _, v := range m {
			n += len(v)
		}
	case map[string]mem.Pointer:
		elem := &e.size.Procs[op.B].Ops[0]
		if elem.Code != plan.Pointer {
			return 0, nil, false
		}
		proc := e.size.Procs[elem.A]
		n = 4 * len(m)
		for k, v := range m {
			size := 1 // the STOP of a nil struct
			if v != nil && proc.Texts != nil && depth > 0 {
				size = sizeTexts(proc, v)
			} else if v != nil {
				if size, f = e.sizeStruct(proc, v, depth); f != nil {
					return 0, f.Key(strconv.Quote(k)), true
				}
			}
			n += len(k) + size
		}
	default:
		return 0, nil, false
	}
	return n, nil, true
}

// compactSizeText is sizeText in the compact protocol.
func compactSizeText(e *encoder, op *plan.Op, m any, depth int) (n int, f *diag.Fault, ok bool) {
	key, elem := &e.size.Procs[op.A].Ops[0], &e.size.Procs[op.B].Ops[0]
	switch m := m.(type) {
	case map[string]string:
		for k, v := range m {
			n += lengthSize(len(k)) + len(k) + lengthSize(len(v)) + len(v)
		}
	case map[uint64]string:
		if key.Code != plan.I64 {
			return 0, nil, false
		}
		for k, v := range m {
			n += varintSize(zigzag(int64(k))) + lengthSize(len(v)) + len(v)
		}
	case map[uint32]uint64:
		if key.Code != plan.I32 || elem.Code != plan.I64 {
			return 0, nil, false
		}
		for k, v := range m {
			n += varintSize(zigzag32(k)) + varintSize(zigzag(int64(v)))
		}
	case map[string]mem.Pointer:
		if elem.Code != plan.Pointer {
			return 0, nil, false
		}
		proc := e.size.Procs[elem.A]
		for k, v := range m {
			size := 1 // the STOP of a nil struct
			if v != nil {
				if size, f = e.compactSizeStruct(proc, v, depth); f != nil {
					return 0, f.Key(strconv.Quote(k)), true
				}
			}
			n += lengthSize(len(k)) + len(k) + size
		}
	default:
		return 0, nil, false
	}
	return n, nil, true
}
