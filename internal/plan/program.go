package plan

import "sort"

// Job is what a program does.
type Job uint8

const (
	Encode Job = iota + 1
	Size
	Decode
)

var jobNames = [...]string{Encode: "encode", Size: "size", Decode: "decode"}

// String returns the name of j in the text form.
func (j Job) String() string {
	if int(j) < len(jobNames) && jobNames[j] != "" {
		return jobNames[j]
	}
	return "invalid"
}

// Program is one job on one type.
type Program struct {
	Job   Job
	Procs []*Proc
	// Defaults are the bytes of default values, as they lie in memory for
	// numbers and as text for strings and binaries.
	Defaults []string
	// Slots is the number of slots that the ops name.
	Slots int
}

// Proc is a procedure: a struct, or the value of an element, key or entry.
type Proc struct {
	Name string // of the struct; empty for a value
	Ops  []Op
	// Base is the number of bytes that every value takes at least. In a Size program the
	// ops add to it; elsewhere it is 0.
	Base int
	// Memory is the number of bytes that a value takes in memory.
	Memory uint32
	// Unknown is the offset of a slice that keeps unknown fields, or -1.
	Unknown int32
	// Init is the slot whose function sets a new value's defaults, or -1.
	Init int32
	// Union: exactly one op must be present, where an option asks for it.
	Union bool
	// Required is the number of ops with the flag Required.
	Required int32
	// Index is the procedure's place in the program.
	Index int32

	index []entry // Decode: ops by header

	// Texts has the offsets of the strings and binaries of a Size procedure whose ops are nothing else
	// and always written; the size of a value is TextBase and their lengths. It is nil for others.
	Texts    []uint32
	TextBase int
}

// IsStruct reports whether p reads or writes a struct.
func (p *Proc) IsStruct() bool { return p.Name != "" }

type entry struct {
	head uint32
	op   int32
}

// Link computes what follows from the rest: places, headers, fixed sizes, the number of required
// fields and the table for Find. Lowering and parsing call it last.
func (p *Program) Link() {
	for i, proc := range p.Procs {
		proc.Index = int32(i)
		proc.Required = 0
		proc.index = proc.index[:0]
		for i := range proc.Ops {
			op := &proc.Ops[i]
			fixed := op.Code.Width()
			switch op.Code {
			case String, Binary:
				fixed = 4
			case List:
				fixed = 5
			case Map:
				fixed = 6
			case Pointer:
				fixed = 1 // the STOP of a nil struct
			}
			op.Head = 0
			if op.Flags&Header != 0 {
				fixed += 3
				op.Head = HeadOf(op.Wire, op.ID)
			}
			op.Fixed = uint8(fixed)
			op.Bit = -1
			if op.Flags&Required != 0 {
				op.Bit = proc.Required
				proc.Required++
			}
			if p.Job == Decode && op.Flags&Header != 0 {
				proc.index = append(proc.index, entry{op.Head, int32(i)})
			}
		}
		if p.Job == Size {
			proc.linkTexts()
		}
		sort.Slice(proc.index, func(i, j int) bool { return proc.index[i].head < proc.index[j].head })
	}
}

func (p *Proc) linkTexts() {
	p.Texts, p.TextBase = nil, p.Base
	if p.Unknown >= 0 || !p.IsStruct() {
		return
	}
	texts := make([]uint32, 0, len(p.Ops))
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Code != String && op.Code != Binary || op.Flags&(Deref|Optional|Default) != 0 {
			return
		}
		texts = append(texts, op.Off)
		p.TextBase += int(op.Fixed)
	}
	p.Texts = texts
}

// Find returns the index of the op with that header, or -1.
func (p *Proc) Find(head uint32) int {
	lo, hi := 0, len(p.index)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if p.index[mid].head < head {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(p.index) && p.index[lo].head == head {
		return int(p.index[lo].op)
	}
	return -1
}

// FindID returns the op of the field with that id, or nil.
func (p *Proc) FindID(id int16) *Op {
	for i := range p.Ops {
		if op := &p.Ops[i]; op.Flags&Header != 0 && op.ID == id {
			return op
		}
	}
	return nil
}
