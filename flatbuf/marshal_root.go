package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the writing of a whole message: its root table, with more memory where that is
// lacking, and what stands before the root.

// rootProgram writes messages with that table as their root.
type rootProgram struct {
	table  *tableProgram
	depth  int    // how many tables may nest
	tables int    // of the layout
	id     []byte // the file identifier, if there is one
	front  []byte // nil if it is not the same in all messages
}

func newRoot(table *tableProgram, config *codecConfig, tables int) rootProgram {
	root := rootProgram{table: table, depth: config.depth, tables: tables}
	if config.id != "" {
		root.id = []byte(config.id)
	}
	if table.leaf != nil && config.depth > 0 {
		root.front = table.front(root.id)
	}
	return root
}

// front returns the first bytes of a message of that table with all its fields, and no other table that may
// share its vtable: the reference to the table, the file identifier id, padding, the vtable and, which is the start
// of the table, the reference to that.
func (p *tableProgram) front(id []byte) []byte {
	// A message starts at a multiple of its alignment, a table 4 bytes before one.
	before := SizeUOffsetT + len(id) + len(p.vtable)
	pad := -(before + SizeSOffsetT) & (p.align - 1)
	front := make([]byte, before+pad+SizeSOffsetT)
	WriteUint32(front, uint32(before+pad))
	copy(front[SizeUOffsetT:], id)
	copy(front[SizeUOffsetT+len(id)+pad:], p.vtable)
	WriteUint32(front[before+pad:], uint32(len(p.vtable)))
	return front
}

// build writes the struct at v and returns its offset. If whole is true that is all of the message, which is
// finished where it has its front.
func (s *writer) build(b *Builder, root *rootProgram, v mem.Pointer) (UOffsetT, error) {
	b.assertNotNested()
	s.begin(b, root)
	p := root.table
	if p.leaf != nil && root.depth > 0 {
		if off := b.leaf(p, v, nil); off != 0 {
			return off, nil
		}
	}
	start := b.state()
	off, ok := s.table(p, v)
	if !ok && s.lacking {
		b.rewind(start)
		s.fault = nil
		s.begin(b, root)
		n := 0
		if ok = s.bound(p, v, &n); ok {
			b.room(n)
			s.depth, s.sized = root.depth, true
			off, ok = s.table(p, v)
		}
	}
	if ok {
		return off, nil
	}
	b.offsets = b.offsets[:start.offsets]
	f := s.fault
	s.fault = nil
	return 0, f
}

func (s *writer) begin(b *Builder, root *rootProgram) {
	if s.b != b {
		s.b = b
	}
	s.depth, s.sized, s.lacking = root.depth, false, false
	switch {
	case cap(s.vtables) < root.tables:
		s.vtables = make([]UOffsetT, root.tables)
	case root.tables == 1: // without a call
		s.vtables = s.vtables[:1]
		s.vtables[0] = 0
	default:
		s.vtables = s.vtables[:root.tables]
		clear(s.vtables)
	}
}

// endWhole ends the message with its front, of which the root table at start has the last bytes. A table's
// bound has room for it.
func (b *Builder) endWhole(root *rootProgram, base mem.Pointer, start int) {
	front := root.front
	b.minalign = root.table.align
	b.head = start + SizeSOffsetT - len(front)
	to := mem.Add(base, uintptr(b.head))
	if n := len(front); n <= 32 { // of six fields, without a call
		putWords(to, mem.Data(front), uintptr(n-8))
	} else {
		mem.PutString(to, mem.StringOf(front))
	}
	b.finished = true
	b.want = max(b.want, len(b.Bytes)-b.head)
}
