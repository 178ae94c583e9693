package flatpack

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds what converters of whole messages share.

// MaxBytes is the most bytes of an input, and of a message made of it: builders panic at 2 GiB.
const MaxBytes = 512 << 20

// CheckInput is a fault for an input of more than MaxBytes.
func CheckInput(b []byte) error {
	if len(b) > MaxBytes {
		return diag.NewFault(diag.SizeLimit, MaxBytes, fmt.Sprintf("more than %d bytes", MaxBytes))
	}
	return nil
}

// Root is the root of messages. It is immutable and safe for concurrent use.
type Root struct {
	id       []byte // the file identifier, or nil
	verifier *flatbuf.Verifier
}

// NewRoot returns the root of messages whose root table is def. They get the file identifier of its schema if
// it is the root type there.
func NewRoot(def *schema.StructDef) (r Root, err error) {
	layout, err := flatbuf.LayoutOf(def)
	if err != nil {
		return r, err
	}
	if f := def.File(); f.Root() == def && f.Identifier() != "" {
		r.id = []byte(f.Identifier())
	}
	r.verifier, err = flatbuf.NewVerifier(layout, 0)
	return r, err
}

// Verify checks a message, which starts with its size if it is prefixed.
func (r *Root) Verify(message []byte, prefixed bool) error {
	if prefixed {
		return r.verifier.VerifySizePrefixed(message)
	}
	return r.verifier.Verify(message)
}

// Finish finishes a message with its root table.
func (r *Root) Finish(b *flatbuf.Builder, table flatbuf.UOffsetT, prefixed bool) {
	switch {
	case prefixed && r.id != nil:
		b.FinishSizePrefixedWithFileIdentifier(table, r.id)
	case prefixed:
		b.FinishSizePrefixed(table)
	case r.id != nil:
		b.FinishWithFileIdentifier(table, r.id)
	default:
		b.Finish(table)
	}
}

// MaxKept is the most bytes that a converter keeps for the next message.
const MaxKept = 1 << 20

// Renew makes p and its Builder ready for another message, unless they hold much: then it returns false.
func (p *Packer) Renew() bool {
	if cap(p.Builder.Bytes) > MaxKept || cap(p.structs) > MaxKept || cap(p.fields) > MaxKept/32 || cap(p.set) > MaxKept/8 {
		return false
	}
	p.Builder.Reset()
	p.Reset()
	return true
}
