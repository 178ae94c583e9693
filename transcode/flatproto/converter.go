package flatproto

import (
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the Converter and its options.

// Converter converts messages of one root type.
type Converter struct {
	root    *message
	message flatpack.Root
	opt     options
	readers sync.Pool // of *reader
}

type options struct {
	trusted, strict bool
	maxOutput       int
}

// Option configures a Converter.
type Option interface{ apply(*options) }

type option func(*options)

func (f option) apply(o *options) { f(o) }

// Trusted does not verify messages of FlatBuffers: they have been. Those that are not whole
// still do no harm, but may mean anything.
func Trusted() Option { return option(func(o *options) { o.trusted = true }) }

// RejectUnknown refuses fields of Protobuf that the schema does not have, and those of another wire type.
func RejectUnknown() Option { return option(func(o *options) { o.strict = true }) }

// MaxOutput limits what is made of one message, in bytes; default 64 MiB, at most 512 MiB.
func MaxOutput(bytes int) Option {
	return option(func(o *options) { o.maxOutput = min(max(bytes, 0), flatpack.MaxBytes) })
}

// New returns a Converter for messages whose root is the table root. They get
// the file identifier of its schema if it is the root type there. A table whose ids are beyond the numbers of
// Protobuf's fields is Unsupported.
func New(root *schema.StructDef, opts ...Option) (*Converter, error) {
	c := &Converter{opt: options{maxOutput: 64 << 20}}
	for _, o := range opts {
		o.apply(&c.opt)
	}
	var err error
	if c.message, err = flatpack.NewRoot(root); err != nil {
		return nil, err
	}
	if c.root, err = (compiler{}).message(root); err != nil {
		return nil, err
	}
	return c, nil
}

// AppendBody appends the Protobuf of a message to dst. On an error it returns dst as it was.
func (c *Converter) AppendBody(dst, message []byte) ([]byte, error) {
	if !c.opt.trusted {
		if err := c.message.Verify(message, false); err != nil {
			return dst, err
		}
	}
	root := flatbuffers.Root(c.root.def, message)
	if !root.Exists() {
		return dst, diag.NewFault(diag.UnexpectedEOF, 0, "the message has no root")
	}
	w := writer{out: dst, limit: len(dst) + c.opt.maxOutput}
	if fault := w.table(c.root, root, 0); fault != nil {
		return dst, fault
	}
	return w.out, nil
}

// AppendMessage appends the message that Protobuf means to dst. Its alignment counts
// from its own start. On an error it returns dst as it was.
func (c *Converter) AppendMessage(dst, body []byte) ([]byte, error) {
	if err := flatpack.CheckInput(body); err != nil {
		return dst, err
	}
	r, ok := c.readers.Get().(*reader)
	if !ok {
		r = &reader{p: flatpack.Packer{Builder: flatbuf.NewBuilder(0)}}
	}
	defer c.keep(r)
	r.opt = &c.opt
	root, fault := r.table(c.root, body, 0, 0)
	if fault != nil {
		return dst, fault
	}
	c.message.Finish(r.p.Builder, root, false)
	return append(dst, r.p.Builder.FinishedBytes()...), nil
}

// keep makes a reader ready for another message, unless it holds much.
func (c *Converter) keep(r *reader) {
	if cap(r.bytes) > flatpack.MaxKept || cap(r.runs) > flatpack.MaxKept/16 || cap(r.offsets) > flatpack.MaxKept/4 || !r.p.Renew() {
		return
	}
	r.bytes, r.runs, r.offsets, r.counts = r.bytes[:0], r.runs[:0], r.offsets[:0], r.counts[:0]
	c.readers.Put(r)
}
