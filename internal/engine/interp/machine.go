package interp

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file decodes structs with the help of machine code. The code reads
// stretches of simple fields; whatever it does not take, each fault above all, is one
// step of the interpreter, after which the code goes on. So the interpreter
// defines the meaning still.

// Assist is code that reads fields of one struct. It stores numbers into the
// struct itself and notes in a Window what needs Go's pointers, in the order of
// the message.
type Assist struct {
	// Worth says, for each op and for the end of the ops, whether Run is worth its call where
	// that op is expected.
	Worth []bool
	// Run reads fields of the struct at base from in on, op first, and
	// reports whether it has read the STOP too. It stores no pointer, and reads nothing
	// behind the window's length. It leaves at the header of a field.
	Run func(op int, w *Window, base, in mem.Pointer) (done bool)
	// Row says that Run goes on behind the STOP, with the structs that lie behind
	// this one in memory and in the message, until Count of them are read. It has then read all
	// of the last, or stands where it leaves one for which Count counts still; one that
	// lacks a required field is left behind its STOP.
	Row bool
}

// Window is what Run and the interpreter tell each other. It holds no pointers.
type Window struct {
	State   [32]uint64 // by the places below
	Records [Records]Record
}

// Records is the number of records in a window.
const Records = 48

// The places of a window's state.
const (
	Length = iota // the bytes that Run may read
	Seen          // required fields that were read, by Op.Bit, before and after Run
	Taken         // bytes that Run has read
	Noted         // bytes of Records that Run has filled
	Next          // the op that is expected next
	Last          // compact: the id of the field before, before and after Run
	Count         // the structs to read, before and after Run; 1 unless the Assist reads rows
	Elem          // bytes from the struct where Run began to the one where it is; 0 before Run
	Places        // how many there are; Run has the words behind for itself
)

// Record is a value that Run has found whole and left to the interpreter.
type Record struct {
	// Where is the offset of a string from the struct where Run began, with BinaryText that of
	// a binary. With Later in Size it is the offset of the struct that the op belongs to.
	Where uint32
	// Size is the length of a text, or Later and the index of an op whose value starts at Place. That of
	// a bool field in the compact protocol is its header.
	Size  uint32
	Place uint64 // from the start of the window
}

// The flags of a Record.
const (
	BinaryText = 1 << 31 // in Where
	Later      = 1 << 31 // in Size
)

// MaxWindow is the number of bytes that one call of Run may read, and so a
// bound on its time, for code cannot be preempted: each field takes a byte at least, and a
// few steps however long it is. The worst case is some tens of microseconds.
const MaxWindow = 16 << 10

// Swap copies n numbers of size bytes, 2, 4 or 8, and swaps the bytes of each.
type Swap func(size int, dst, src mem.Pointer, n int)

// swapFrom is the number of numbers from which calling a Swap pays.
const swapFrom = 48

// Varints reads at most n varints of the compact protocol, as values of code in
// memory, from the front of src, which has room bytes. It returns how many it has
// read, perhaps none, and the bytes that they took. What comes next is the interpreter's to judge.
type Varints func(code plan.Code, dst, src mem.Pointer, n, room int) (read, taken int)

// varintsFrom is the number of varints from which calling a Varints pays.
const varintsFrom = 4

// Bulk reads lists of numbers. What is nil is the interpreter's.
type Bulk struct {
	Swap    Swap
	Varints Varints
}

// Assisted is Decoder with help for those procedures of the program that have
// an Assist, nil for the others, and for lists of numbers.
func (e Engine) Assisted(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions, assists []*Assist, bulk Bulk) (engine.Decoder, error) {
	d, err := e.decoder(decode, b, o)
	if err != nil {
		return nil, err
	}
	d.assists, d.bulk = assists, bulk
	return d, nil
}

// progress is how far a struct has been read.
type progress struct {
	next, last int // the op that is expected, and the id of the field before it
	seen       fieldSet
}

// assisted reads a struct as structure does.
func (d *run) assisted(p *plan.Proc, a *Assist, base mem.Pointer, i, depth int) int {
	return d.resume(p, a, base, i, i, depth, new(progress))
}

// resume reads what remains at i of a struct that began at start.
func (d *run) resume(p *plan.Proc, a *Assist, base mem.Pointer, start, i, depth int, s *progress) int {
	for {
		if a.Worth[s.next] && len(d.b)-i >= 4 {
			var done bool
			if i, done = d.enter(p, a, base, i, 1, depth, s); i < 0 {
				return failed
			} else if done {
				break
			}
		}
		if d.compact != 0 {
			i, s.next, s.last = d.compactStep(p, base, i, s.next, s.last, depth, &s.seen)
		} else {
			i, s.next = d.step(p, base, i, s.next, depth, &s.seen)
		}
		if i < 0 {
			return failed
		} else if s.next < 0 {
			break
		}
	}
	return d.finish(p, &s.seen, start, i)
}

// enter lets code read at i, where count structs are to come, and reports whether it has read a STOP.
func (d *run) enter(p *plan.Proc, a *Assist, base mem.Pointer, i, count, depth int, s *progress) (end int, done bool) {
	if d.window == nil {
		d.window = new(Window)
	}
	w := d.window // structs within this one use it too, between calls of Run
	w.State[Length] = uint64(min(len(d.b)-i, MaxWindow))
	w.State[Seen], w.State[Last] = s.seen.first, uint64(s.last)
	w.State[Count], w.State[Elem] = uint64(count), 0
	done = a.Run(s.next, w, base, mem.Add(mem.Data(d.b), uintptr(i)))
	s.seen.first, s.next, s.last = w.State[Seen], int(w.State[Next]), int(int64(w.State[Last]))
	end = i + int(w.State[Taken])
	if n := int(w.State[Noted]) / mem.Size[Record](); n > 0 && !d.settle(p, w.Records[:n], base, i, depth-1) {
		return failed, false
	}
	return end, done
}

// rows returns the Assist for structs in a row, or nil.
func (d *run) rows(proc int32, depth int) *Assist {
	if d.assists != nil && depth > 1 {
		if a := d.assists[proc]; a != nil && a.Row {
			return a
		}
	}
	return nil
}

// row reads n structs in a row at base, of which the first has the index first in its list.
func (d *run) row(p *plan.Proc, a *Assist, base mem.Pointer, first, i, n, depth int) int {
	at := func(k int) mem.Pointer { return mem.Add(base, uintptr(k)*uintptr(p.Memory)) }
	for k := 0; k < n; k++ {
		s, start := new(progress), i
		if len(d.b)-i >= 4 {
			var done bool
			if i, done = d.enter(p, a, at(k), i, n-k, depth, s); i < 0 {
				return failed
			}
			k = n - int(d.window.State[Count])
			if done && k < n { // a required field is missing
				i = d.finish(p, &s.seen, start, i)
			} else if !done {
				i = d.resume(p, a, at(k), start, i, depth, s)
			}
		} else {
			i = d.resume(p, a, at(k), start, i, depth, s)
		}
		if i < 0 {
			d.fault.Index(first + k)
			return failed
		}
	}
	return i
}

// settle makes the values that code has noted in a window that starts at i.
func (d *run) settle(p *plan.Proc, records []Record, base mem.Pointer, i, depth int) bool {
	for k := range records {
		r := &records[k]
		at := i + int(r.Place)
		if r.Size&Later != 0 {
			op := &p.Ops[r.Size&^Later]
			to := mem.Add(base, uintptr(op.Off)+uintptr(r.Where))
			if op.Flags&plan.Deref != 0 {
				to = d.box(op, to)
			}
			if op.Code == plan.Bool && d.compact != 0 {
				mem.SetU8(to, bit(d.b[at]&15 == 1))
				continue
			}
			if d.value(op, to, at, depth) < 0 {
				d.fault.Field(op.Name)
				return false
			}
			continue
		}
		end := at + int(r.Size)
		s := d.b[at:end:end]
		if !d.opts.Alias {
			s = d.chunk.Copy(s)
		}
		if r.Where&BinaryText == 0 {
			mem.SetString(mem.Add(base, uintptr(r.Where)), mem.StringOf(s))
		} else {
			mem.SetBytes(mem.Add(base, uintptr(r.Where&^BinaryText)), s)
		}
	}
	return true
}

// step reads one field, the op next expected, and returns the offset behind
// and the op that is expected then, -1 behind the STOP.
func (d *run) step(p *plan.Proc, base mem.Pointer, i, next, depth int, seen *fieldSet) (end, then int) {
	var head uint32
	if len(d.b)-i >= 4 {
		head = mem.BE32(mem.Add(mem.Data(d.b), uintptr(i))) >> 8
	} else if head = d.shortHead(i); d.fault != nil {
		return failed, 0
	}
	if head < 1<<16 { // STOP
		return i + 1, -1
	}
	if next >= len(p.Ops) || p.Ops[next].Head != head {
		if next = p.Find(head); next < 0 {
			return d.unknown(p, base, i, depth), 0
		}
	}
	op := &p.Ops[next]
	seen.add(op)
	at := mem.Add(base, uintptr(op.Off))
	if op.Flags&plan.Deref != 0 {
		at = d.box(op, at)
	}
	if i = d.value(op, at, i+3, depth-1); i < 0 {
		d.fault.Field(op.Name)
	}
	return i, next + 1
}

// compactStep is step in the compact protocol. The id of the field before is
// last, and then that of this field.
func (d *run) compactStep(p *plan.Proc, base mem.Pointer, i, next, last, depth int, seen *fieldSet) (end, then, id int) {
	f, n := d.compact.ConsumeField(d.b[i:], int16(last))
	switch {
	case i == len(d.b):
		return d.eof(i, 1), 0, 0
	case n < 0:
		return d.wire(n, i), 0, 0
	case f.Type == thriftwire.Stop:
		return i + n, -1, 0
	}
	id = int(f.ID)
	if head := plan.HeadOf(f.Type, f.ID); next >= len(p.Ops) || p.Ops[next].Head != head {
		if next = p.Find(head); next < 0 {
			return d.compactUnknown(p, base, f, i, n, depth), 0, id
		}
	}
	op := &p.Ops[next]
	seen.add(op)
	at := mem.Add(base, uintptr(op.Off))
	if op.Flags&plan.Deref != 0 {
		at = d.box(op, at)
	}
	if i += n; op.Code == plan.Bool {
		mem.SetU8(at, bit(f.True))
		return i, next + 1, id
	}
	if i = d.value(op, at, i, depth-1); i < 0 {
		d.fault.Field(op.Name)
	}
	return i, next + 1, id
}
