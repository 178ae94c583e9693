package interp

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file encodes into the binary protocol. Memory that another goroutine
// changes meanwhile gives wrong bytes or an error and nothing worse: each length is
// loaded once, and room for it is made before bytes are written, whatever a
// size pass said.

type encoder struct {
	prog  *plan.Program // with pairs, in the binary protocol
	plain *plan.Program // as lowered, for the names of second parts
	size  *plan.Program
	slots []engine.Slot
	cells []*cell // by slot
	opts  engine.EncodeOptions
	// compact is the dialect of the compact protocol, 0 for the binary one.
	compact compact.Dialect
	always  []always // by procedure, in the compact protocol
	// cuts is where Gather notes bytes that it does not copy: those of at least threshold. It is nil
	// while Append runs, whose threshold no length reaches.
	cuts      *[]engine.Cut
	threshold int

	gatherers *sync.Pool // of *gatherer

	assist  StructEncoder // encodes structs instead; nil for none
	batched []bool        // by slot: it encodes the entries of those maps too
}

// gatherer is an encoder while it gathers.
type gatherer struct {
	encoder
	list []engine.Cut
}

func (e *encoder) Append(dst []byte, v mem.Pointer) ([]byte, error) {
	b, f := e.structure(dst, e.prog.Procs[0], v, e.opts.MaxDepth)
	if f != nil {
		return dst, f
	}
	return b, nil
}

func (e *encoder) Gather(dst []byte, cuts []engine.Cut, v mem.Pointer, threshold int) ([]byte, []engine.Cut, error) {
	g, _ := e.gatherers.Get().(*gatherer)
	if g == nil {
		g = &gatherer{encoder: *e}
		g.cuts = &g.list
	}
	g.list, g.threshold = cuts, threshold
	b, f := g.structure(dst, g.prog.Procs[0], v, g.opts.MaxDepth)
	all := g.list
	g.list = nil
	e.gatherers.Put(g)
	if f != nil {
		return dst, cuts, f
	}
	return b, all, nil
}

// payload appends the bytes of s, or notes where they belong.
func (e *encoder) payload(b []byte, s string) []byte {
	if len(s) < e.threshold {
		return append(b, s...)
	}
	e.cut(len(b), s)
	return b
}

// cut notes that the bytes of s belong at the offset.
func (e *encoder) cut(offset int, s string) {
	*e.cuts = append(*e.cuts, engine.Cut{Offset: offset, Data: mem.View[byte](mem.StringData(s), len(s))})
}

// room returns b with n more bytes, whose content is arbitrary.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = slices.Grow(b, n)
	}
	return b[:len(b)+n]
}

func (e *encoder) structure(b []byte, p *plan.Proc, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	if e.assist != nil {
		return e.assist.AppendStruct(e, b, int(p.Index), base, depth)
	}
	if e.compact != 0 {
		return e.compactStruct(b, p, base, depth)
	}
	if depth <= 0 {
		return b, tooDeep(len(b))
	}
	// The buffer is o[:size], of which i bytes are written; a store stands
	// behind a comparison of size-i with its length.
	o, i, size := mem.Data(b), len(b), cap(b)
	written := 0
	ops := p.Ops
	for k := range ops {
		op := &ops[k]
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&(plan.Deref|plan.Optional|plan.Default) != 0 {
			if at = e.present(op, base); at == nil {
				continue
			}
		}
		written++
		if size-i < int(op.Fixed) {
			o, size = extend(o, i, size, int(op.Fixed))
		}
		w := mem.Add(o, uintptr(i))
		switch op.Code {
		case plan.I64, plan.Double:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE64(mem.Add(w, 3), mem.U64(at))
			i += 11
			continue
		case plan.I32, plan.Float:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), mem.U32(at))
			i += 7
			continue
		case plan.Bool, plan.I8:
			mem.PutBE32(w, op.Head<<8|uint32(mem.U8(at)))
			i += 4
			continue
		case pair8x8:
			mem.PutBE32(w, op.Head<<8|uint32(mem.U8(at)))
			mem.PutBE32(mem.Add(w, 4), uint32(op.Bit)<<8|uint32(mem.U8(mem.Add(base, uintptr(op.Size)))))
			i += 8
			continue
		case pair8x32:
			mem.PutBE32(w, op.Head<<8|uint32(mem.U8(at)))
			mem.PutBE32(mem.Add(w, 4), uint32(op.Bit)<<8)
			mem.PutBE32(mem.Add(w, 7), mem.U32(mem.Add(base, uintptr(op.Size))))
			i += 11
			continue
		case pair8x64:
			mem.PutBE32(w, op.Head<<8|uint32(mem.U8(at)))
			mem.PutBE32(mem.Add(w, 4), uint32(op.Bit)<<8)
			mem.PutBE64(mem.Add(w, 7), mem.U64(mem.Add(base, uintptr(op.Size))))
			i += 15
			continue
		case pair32x8:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), mem.U32(at))
			mem.PutBE32(mem.Add(w, 7), uint32(op.Bit)<<8|uint32(mem.U8(mem.Add(base, uintptr(op.Size)))))
			i += 11
			continue
		case pair32x32:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), mem.U32(at))
			mem.PutBE32(mem.Add(w, 7), uint32(op.Bit)<<8)
			mem.PutBE32(mem.Add(w, 10), mem.U32(mem.Add(base, uintptr(op.Size))))
			i += 14
			continue
		case pair32x64:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), mem.U32(at))
			mem.PutBE32(mem.Add(w, 7), uint32(op.Bit)<<8)
			mem.PutBE64(mem.Add(w, 10), mem.U64(mem.Add(base, uintptr(op.Size))))
			i += 18
			continue
		case pair64x8:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE64(mem.Add(w, 3), mem.U64(at))
			mem.PutBE32(mem.Add(w, 11), uint32(op.Bit)<<8|uint32(mem.U8(mem.Add(base, uintptr(op.Size)))))
			i += 15
			continue
		case pair64x32:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE64(mem.Add(w, 3), mem.U64(at))
			mem.PutBE32(mem.Add(w, 11), uint32(op.Bit)<<8)
			mem.PutBE32(mem.Add(w, 14), mem.U32(mem.Add(base, uintptr(op.Size))))
			i += 18
			continue
		case pair64x64:
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE64(mem.Add(w, 3), mem.U64(at))
			mem.PutBE32(mem.Add(w, 11), uint32(op.Bit)<<8)
			mem.PutBE64(mem.Add(w, 14), mem.U64(mem.Add(base, uintptr(op.Size))))
			i += 22
			continue
		case pairText:
			s, t := mem.String(at), mem.String(mem.Add(base, uintptr(op.Size)))
			if suspect(len(s), mem.StringData(s)) || suspect(len(t), mem.StringData(t)) || len(s) >= e.threshold || len(t) >= e.threshold {
				break
			}
			if size-i < int(op.Fixed)+len(s)+len(t) {
				o, size = extend(o, i, size, int(op.Fixed)+len(s)+len(t))
				w = mem.Add(o, uintptr(i))
			}
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), uint32(len(s)))
			mem.PutString(mem.Add(w, 7), s)
			w = mem.Add(w, uintptr(7+len(s)))
			mem.PutBE32(w, uint32(op.Bit)<<8)
			mem.PutBE32(mem.Add(w, 3), uint32(len(t)))
			if len(t) > 0 {
				mem.PutString(mem.Add(w, 7), t)
			}
			i += 14 + len(s) + len(t)
			continue
		case plan.Enum64:
			v := int64(mem.U64(at))
			if int64(int32(v)) != v {
				return nil, enumRange(i + 3).Field(op.Name) // where the value would stand
			}
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), uint32(v))
			i += 7
			continue
		case plan.String, plan.Binary:
			s := mem.String(at) // a slice starts as a string does
			if suspect(len(s), mem.StringData(s)) {
				return nil, checkBytes(len(s), mem.StringData(s), i).Field(op.Name)
			}
			mem.PutBE32(w, op.Head<<8)
			mem.PutBE32(mem.Add(w, 3), uint32(len(s)))
			i += 7
			if len(s) >= e.threshold {
				e.cut(i, s)
				continue
			}
			if len(s) == 0 {
				continue // the address behind a full buffer is not its own
			}
			if size-i < len(s) {
				o, size = extend(o, i, size, len(s))
			}
			mem.PutString(mem.Add(o, uintptr(i)), s)
			i += len(s)
			continue
		}
		mem.PutBE16(w, uint16(op.Head>>8))
		mem.SetU8(mem.Add(w, 2), byte(op.Head))
		out := mem.Buffer(o, i+3, size)
		var f *diag.Fault
		switch op.Code {
		case plan.List:
			data, n := mem.Slice(at)
			out, f = e.list(out, op, data, n, depth-1)
		case plan.Map:
			out, f = e.mapping(out, op, mem.Ptr(at), depth-1)
		case pairText:
			out, f = e.textPair(out, p, op, base)
			if f != nil {
				return nil, f
			}
		default:
			out, f = e.value(out, op, at, depth-1)
		}
		if f != nil {
			return nil, f.Field(op.Name)
		}
		o, i, size = mem.Data(out), len(out), cap(out)
	}
	if p.Unknown < 0 && !p.Union {
		if size-i < 1 {
			o, size = extend(o, i, size, 1)
		}
		mem.SetU8(mem.Add(o, uintptr(i)), 0)
		return mem.Buffer(o, i+1, size), nil
	}
	out := mem.Buffer(o, i, size)
	if p.Unknown >= 0 {
		out = append(out, mem.Bytes(mem.Add(base, uintptr(p.Unknown)))...)
	}
	if f := e.checkUnion(p, written, len(out)); f != nil {
		return nil, f
	}
	return append(out, 0), nil
}

// textPair appends what structure does not take in its stride: texts that are
// handed on without a copy or that cannot be written. The first header stands already.
func (e *encoder) textPair(b []byte, p *plan.Proc, op *plan.Op, base mem.Pointer) ([]byte, *diag.Fault) {
	b, f := e.bytes(b, mem.String(mem.Add(base, uintptr(op.Off))))
	if f != nil {
		return b, f.Field(op.Name)
	}
	b = append(b, byte(op.Bit>>16), byte(op.Bit>>8), byte(op.Bit))
	if b, f = e.bytes(b, mem.String(mem.Add(base, uintptr(op.Size)))); f != nil {
		return b, f.Field(e.plain.Procs[slices.Index(e.prog.Procs, p)].Ops[op.A].Name)
	}
	return b, nil
}

// extend returns a buffer with room for n bytes behind the first i of o[:size], which are kept.
func extend(o mem.Pointer, i, size, n int) (mem.Pointer, int) {
	b := slices.Grow(mem.Buffer(o, i, size), n)
	return mem.Data(b), cap(b)
}

// present returns the address of the op's value, or nil if it is not written.
func (e *encoder) present(op *plan.Op, base mem.Pointer) mem.Pointer {
	at := mem.Add(base, uintptr(op.Off))
	switch {
	case op.Flags&plan.Default != 0:
		if e.isDefault(op, at) {
			return nil
		}
	case op.Flags&plan.Deref != 0:
		return mem.Ptr(at)
	case op.Flags&plan.Optional != 0:
		if mem.Ptr(at) == nil {
			return nil
		}
	}
	return at
}

func (e *encoder) checkUnion(p *plan.Proc, written, offset int) *diag.Fault {
	if p.Union && e.opts.CheckUnion && written != 1 {
		return diag.NewFault(diag.InvalidUnion, offset, "union "+p.Name+" has "+plural(written, "field")+" set, not 1")
	}
	return nil
}

// value appends one value without a header.
func (e *encoder) value(b []byte, op *plan.Op, at mem.Pointer, depth int) ([]byte, *diag.Fault) {
	switch op.Code {
	case plan.String, plan.Binary:
		return e.bytes(b, mem.String(at)) // a slice starts as a string does
	case plan.Struct:
		return e.structure(b, e.prog.Procs[op.A], at, depth)
	case plan.Pointer:
		return e.pointer(b, op, mem.Ptr(at), depth)
	case plan.List:
		data, n := mem.Slice(at)
		return e.list(b, op, data, n, depth)
	case plan.Map:
		return e.mapping(b, op, mem.Ptr(at), depth)
	}
	if e.compact != 0 {
		return e.compactScalar(b, op, at)
	}
	switch op.Code {
	case plan.Bool, plan.I8:
		return append(b, mem.U8(at)), nil
	case plan.I16:
		return binary.BigEndian.AppendUint16(b, mem.U16(at)), nil
	case plan.I32, plan.Float:
		return binary.BigEndian.AppendUint32(b, mem.U32(at)), nil
	case plan.I64, plan.Double:
		return binary.BigEndian.AppendUint64(b, mem.U64(at)), nil
	case plan.Enum64:
		v := int64(mem.U64(at))
		if int64(int32(v)) != v {
			return b, enumRange(len(b))
		}
		return binary.BigEndian.AppendUint32(b, uint32(v)), nil
	default: // UUID
		return append(b, mem.UUID(at)[:]...), nil
	}
}

// pointer appends the struct at v; a nil one is empty.
func (e *encoder) pointer(b []byte, op *plan.Op, v mem.Pointer, depth int) ([]byte, *diag.Fault) {
	if v == nil {
		return append(b, 0), nil
	}
	return e.structure(b, e.prog.Procs[op.A], v, depth)
}

func enumRange(offset int) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, offset, "an enum value does not fit into 32 bits")
}

// bytes appends a string or binary.
func (e *encoder) bytes(b []byte, s string) ([]byte, *diag.Fault) {
	if len(s) < e.threshold && !suspect(len(s), mem.StringData(s)) {
		if e.compact != 0 {
			return compactBytes(b, s), nil
		}
		return thriftwire.AppendString(b, s), nil
	}
	if f := checkBytes(len(s), mem.StringData(s), len(b)); f != nil {
		return b, f
	}
	if e.compact != 0 {
		return e.payload(compact.AppendLength(b, len(s)), s), nil
	}
	return e.payload(thriftwire.AppendI32(b, int32(len(s))), s), nil
}

// list appends n elements that start at data, with their header.
func (e *encoder) list(b []byte, op *plan.Op, data mem.Pointer, n, depth int) ([]byte, *diag.Fault) {
	if depth <= 0 {
		return b, tooDeep(len(b))
	}
	if f := checkBytes(n, data, len(b)); f != nil {
		return b, f
	}
	elem := &e.prog.Procs[op.A].Ops[0]
	if e.compact != 0 {
		b = e.compact.AppendList(b, elem.Wire, n)
	} else {
		b = thriftwire.AppendList(b, elem.Wire, n)
	}
	if op.Flags&plan.Unique != 0 && e.opts.CheckSet {
		return e.set(b, op, elem, data, n, depth)
	}
	if elem.Code.Width() > 0 {
		if e.compact != 0 {
			return e.compactNumbers(b, elem, data, n)
		}
		return e.numbers(b, elem, data, n)
	}
	if e.compact != 0 {
		return e.compactElements(b, op, elem, data, n, depth)
	}
	if elem.Code == plan.String {
		return e.strings(b, data, n)
	}
	var f *diag.Fault
	if elem.Code == plan.Pointer {
		proc := e.prog.Procs[elem.A]
		for i, v := range mem.View[mem.Pointer](data, n) {
			if v == nil {
				b = append(b, 0)
			} else if b, f = e.structure(b, proc, v, depth-1); f != nil {
				return b, f.Index(i)
			}
		}
		return b, nil
	}
	for i := range n {
		if b, f = e.value(b, elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-1); f != nil {
			return b, f.Index(i)
		}
	}
	return b, nil
}

// strings appends n strings in the binary protocol.
func (e *encoder) strings(b []byte, data mem.Pointer, n int) ([]byte, *diag.Fault) {
	for i, s := range mem.View[string](data, n) {
		if len(s) < e.threshold && !suspect(len(s), mem.StringData(s)) { // as bytes does, without the call
			b = thriftwire.AppendString(b, s)
			continue
		}
		var f *diag.Fault
		if b, f = e.bytes(b, s); f != nil {
			return nil, f.Index(i)
		}
	}
	return b, nil
}

// numbers appends n elements of fixed width.
func (e *encoder) numbers(b []byte, elem *plan.Op, data mem.Pointer, n int) ([]byte, *diag.Fault) {
	at := len(b)
	switch elem.Code {
	case plan.Bool, plan.I8:
		return append(b, mem.View[byte](data, n)...), nil
	case plan.I16:
		b = room(b, 2*n)
		w := b[at:]
		for i, v := range mem.View[uint16](data, n) {
			binary.BigEndian.PutUint16(w[2*i:], v)
		}
		return b, nil
	case plan.I32, plan.Float:
		b = room(b, 4*n)
		v, w := mem.View[uint32](data, n), b[at:]
		for len(v) >= 4 && len(w) >= 16 { // four at a time, with one check
			binary.BigEndian.PutUint32(w[0:], v[0])
			binary.BigEndian.PutUint32(w[4:], v[1])
			binary.BigEndian.PutUint32(w[8:], v[2])
			binary.BigEndian.PutUint32(w[12:], v[3])
			v, w = v[4:], w[16:]
		}
		for i, v := range v {
			binary.BigEndian.PutUint32(w[4*i:], v)
		}
		return b, nil
	case plan.I64, plan.Double:
		b = room(b, 8*n)
		v, w := mem.View[uint64](data, n), b[at:]
		for len(v) >= 4 && len(w) >= 32 { // four at a time, with one check
			binary.BigEndian.PutUint64(w[0:], v[0])
			binary.BigEndian.PutUint64(w[8:], v[1])
			binary.BigEndian.PutUint64(w[16:], v[2])
			binary.BigEndian.PutUint64(w[24:], v[3])
			v, w = v[4:], w[32:]
		}
		for i, v := range v {
			binary.BigEndian.PutUint64(w[8*i:], v)
		}
		return b, nil
	case plan.Enum64:
		for i, v := range mem.View[int64](data, n) {
			if int64(int32(v)) != v {
				return b, enumRange(len(b)).Index(i)
			}
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		return b, nil
	default: // UUID
		return append(b, mem.View[byte](data, 16*n)...), nil
	}
}

// set appends the elements of a set whose uniqueness is checked.
func (e *encoder) set(b []byte, op, elem *plan.Op, data mem.Pointer, n, depth int) ([]byte, *diag.Fault) {
	seen := make(map[string]struct{}, n)
	for i := range n {
		start := len(b)
		var f *diag.Fault
		if b, f = e.value(b, elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-1); f != nil {
			return b, f.Index(i)
		}
		seen[string(b[start:])] = struct{}{}
		if len(seen) == i {
			return b, diag.NewFault(diag.DuplicateKey, start, "a set has two equal elements").Index(i)
		}
	}
	return b, nil
}

// isDefault reports whether the value at p equals the op's default.
func (e *encoder) isDefault(op *plan.Op, at mem.Pointer) bool {
	want := e.prog.Defaults[op.B]
	switch op.Code {
	case plan.String:
		return mem.String(at) == want
	case plan.Binary:
		b := mem.Bytes(at)
		return b == nil || string(b) == want // nil is absent
	default:
		return string(mem.View[byte](at, len(want))) == want
	}
}

// suspect reports whether checkBytes would refuse.
func suspect(n int, data mem.Pointer) bool { return uint(n) > math.MaxInt32 || data == nil && n != 0 }

// checkBytes refuses lengths that Thrift cannot express and what only a value
// that is being changed can be: a length without memory.
func checkBytes(n int, data mem.Pointer, offset int) *diag.Fault {
	if uint(n) > math.MaxInt32 {
		return diag.NewFault(diag.SizeLimit, offset, "longer than Thrift's 2 GiB")
	}
	if data == nil && n != 0 {
		return diag.NewFault(diag.InvalidValue, offset, "a nil pointer with a length: the value changed while it was encoded")
	}
	return nil
}

func tooDeep(offset int) *diag.Fault {
	return diag.NewFault(diag.DepthLimit, offset, "nested deeper than the limit")
}
