package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the writing of the scalars of a table, one by one and as runs.

// scalarOp is a scalar, or a run of them, of a table that has all its fields.
type scalarOp struct {
	off   uintptr // in the Go struct
	at    int     // in the table
	width uint8   // 0 for a run
	def   uint64
	run   *scalarRun
}

// putScalars writes scalars of the struct at v to the table. It returns false if one of them is absent, and has then
// written anything there.
func putScalars(scalars []scalarOp, table, v mem.Pointer) bool {
	for i := range scalars {
		op := &scalars[i]
		src, dst := mem.Add(v, op.off), mem.Add(table, uintptr(op.at))
		var bits uint64
		switch op.width {
		case 4:
			bits = uint64(mem.U32(src))
			mem.PutLE32(dst, uint32(bits))
		case 8:
			bits = mem.U64(src)
			mem.PutLE64(dst, bits)
		case 1:
			bits = uint64(mem.U8(src))
			mem.SetU8(dst, uint8(bits))
		case 2:
			bits = uint64(mem.U16(src))
			mem.PutLE16(dst, uint16(bits))
		default:
			if !op.run.put(dst, src) {
				return false
			}
			continue
		}
		if bits == op.def {
			return false
		}
	}
	return true
}

// putRun puts scalars that lie one after another, at once if none of them is 0.
func putRun(op *inlineOp, t []byte, vt []uint16, at int, src mem.Pointer) int {
	w := int(op.width)
	if !op.run.put(mem.Data(t[at:at+op.run.bytes]), src) {
		for i := range op.n {
			if bits := loadBits(mem.Add(src, uintptr(i*w)), op.width); bits != 0 {
				at = putBits(t, vt, op.slot+i, at, op.width, bits)
			}
		}
		return at
	}
	slots := vt[op.slot+VtableMetadataFields:][:op.n]
	for i := range slots {
		slots[i] = uint16(at)
		at += w
	}
	return at
}

// scalarRun is how to write scalars that lie one after another in Go's memory and in a table.
type scalarRun struct {
	bytes int    // of all
	width int    // of each
	ones  uint64 // 1 in each scalar of eight bytes
	high  uint64 // the highest bit in each
}

func newScalarRun(n, width int) scalarRun {
	r := scalarRun{bytes: n * width, width: width}
	for i := 0; i < 8; i += width {
		r.ones |= 1 << (8 * i)
	}
	r.high = r.ones << (8*width - 1)
	return r
}

// put copies the scalars at src to dst. It returns false if one of them is 0, and has then written
// anything there. It looks at eight bytes at a time: taking 1 from each scalar borrows into its highest bit
// only if the scalar is 0, or had that bit already, or one below it was 0.
func (r *scalarRun) put(dst, src mem.Pointer) bool {
	one, high, n := r.ones, r.high, uintptr(r.bytes)
	at := uintptr(0)
	for ; at+16 <= n; at += 16 {
		x, y := mem.LE64(mem.Add(src, at)), mem.LE64(mem.Add(src, at+8))
		mem.PutLE64(mem.Add(dst, at), x)
		mem.PutLE64(mem.Add(dst, at+8), y)
		if ((x-one)&^x|(y-one)&^y)&high != 0 {
			return false
		}
	}
	for at < n { // at the end words overlap
		if n < 8 {
			x, y := mem.LE32(src), mem.LE32(mem.Add(src, n-4))
			putHalves(dst, src, n-4)
			if z := uint64(x) | uint64(y)<<32; (z-one)&^z&high != 0 {
				return false
			}
			break
		}
		at = min(at, n-8)
		x := mem.LE64(mem.Add(src, at))
		mem.PutLE64(mem.Add(dst, at), x)
		if (x-one)&^x&high != 0 {
			return false
		}
		at += 8
	}
	mem.ToLE(mem.View[byte](dst, r.bytes), r.width)
	return true
}

func loadBits(p mem.Pointer, w uint8) uint64 {
	switch w {
	case 1:
		return uint64(mem.U8(p))
	case 2:
		return uint64(mem.U16(p))
	case 4:
		return uint64(mem.U32(p))
	default:
		return mem.U64(p)
	}
}

func putBits(t []byte, vt []uint16, slot, at int, w uint8, bits uint64) int {
	switch w {
	case 1:
		return PutUint8(t, vt, slot, at, uint8(bits))
	case 2:
		return PutUint16(t, vt, slot, at, uint16(bits))
	case 4:
		return PutUint32(t, vt, slot, at, uint32(bits))
	default:
		return PutUint64(t, vt, slot, at, bits)
	}
}

// putScalar writes a scalar of w bytes.
func putScalar(p mem.Pointer, w uint8, bits uint64) {
	switch w {
	case 1:
		mem.SetU8(p, uint8(bits))
	case 2:
		mem.PutLE16(p, uint16(bits))
	case 4:
		mem.PutLE32(p, uint32(bits))
	default:
		mem.PutLE64(p, bits)
	}
}
