package asm

import (
	"encoding/binary"
	"fmt"
)

// Buffer is what machines share: the code so far, its labels and the places
// that wait for them. An implementation embeds it.
type Buffer struct {
	Code   []byte
	labels []int // the offset, or -1
	fixups []fixup
	err    error
}

// fixup is a place that depends on a label.
type fixup struct {
	at    int
	label Label
	patch func(code []byte, at, target int) error
}

// Label returns a new label.
func (b *Buffer) Label() Label {
	b.labels = append(b.labels, -1)
	return Label(len(b.labels) - 1)
}

// Bind places l at the end of the code.
func (b *Buffer) Bind(l Label) {
	if b.labels[l] >= 0 {
		b.Fail(fmt.Errorf("asm: label %d is bound twice", l))
	}
	b.labels[l] = len(b.Code)
}

// Offset returns the place of l.
func (b *Buffer) Offset(l Label) int { return b.labels[l] }

// Refer has patch called with the offset of l once it is known.
func (b *Buffer) Refer(at int, l Label, patch func(code []byte, at, target int) error) {
	b.fixups = append(b.fixups, fixup{at, l, patch})
}

// Fail notes an error, of which Resolve returns the first.
func (b *Buffer) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Resolve patches all references to labels.
func (b *Buffer) Resolve() error {
	for _, f := range b.fixups {
		target := b.labels[f.label]
		if target < 0 {
			b.Fail(fmt.Errorf("asm: label %d is not bound", f.label))
			continue
		}
		if err := f.patch(b.Code, f.at, target); err != nil {
			b.Fail(err)
		}
	}
	return b.err
}

// Emit appends bytes.
func (b *Buffer) Emit(p ...byte) { b.Code = append(b.Code, p...) }

// Emit32 appends a word with the low byte first.
func (b *Buffer) Emit32(v uint32) { b.Code = binary.LittleEndian.AppendUint32(b.Code, v) }

// Emit64 appends a word with the low byte first.
func (b *Buffer) Emit64(v uint64) { b.Code = binary.LittleEndian.AppendUint64(b.Code, v) }
