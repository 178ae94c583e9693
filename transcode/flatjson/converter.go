package flatjson

import (
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the Converter and its options.

// Converter converts messages of one root type.
type Converter struct {
	root    *schema.StructDef
	message flatpack.Root
	opt     options
	readers sync.Pool // of *reader
}

type options struct {
	lenient, defaults, numbers, unknown, trusted, prefixed bool
	maxOutput                                              int
	maxMessage                                             int
}

// Option configures a Converter.
type Option interface{ apply(*options) }

type option func(*options)

func (f option) apply(o *options) { f(o) }

// Lenient reads JSON as flatc does, beyond the standard.
func Lenient() Option { return option(func(o *options) { o.lenient = true }) }

// SkipUnknown leaves members out that the schema does not have.
func SkipUnknown() Option { return option(func(o *options) { o.unknown = true }) }

// WriteDefaults writes scalars and strings too that a message leaves out since
// they are the default, and null for optional ones.
func WriteDefaults() Option { return option(func(o *options) { o.defaults = true }) }

// EnumNumbers writes the values of enums as numbers.
func EnumNumbers() Option { return option(func(o *options) { o.numbers = true }) }

// Trusted does not verify messages: they have been. Those that are not whole
// still do no harm, but may mean anything.
func Trusted() Option { return option(func(o *options) { o.trusted = true }) }

// SizePrefixed reads and writes messages that start with their size.
func SizePrefixed() Option { return option(func(o *options) { o.prefixed = true }) }

// MaxOutput limits the JSON made from one message, in bytes; default 64 MiB.
func MaxOutput(bytes int) Option { return option(func(o *options) { o.maxOutput = bytes }) }

// maxDepth is the deepest nesting of tables, and of JSON in FlexBuffers.
const maxDepth = flatwire.MaxDepth

// New returns a Converter for messages whose root is the table root. They get
// the file identifier of its schema if it is the root type there.
func New(root *schema.StructDef, opts ...Option) (*Converter, error) {
	c := &Converter{root: root, opt: options{maxOutput: 64 << 20, maxMessage: flatpack.MaxBytes}}
	for _, o := range opts {
		o.apply(&c.opt)
	}
	var err error
	if c.message, err = flatpack.NewRoot(root); err != nil {
		return nil, err
	}
	return c, nil
}

// AppendJSON appends the JSON of a message to dst. On an error it returns dst
// as it was.
func (c *Converter) AppendJSON(dst, message []byte) ([]byte, error) {
	if !c.opt.trusted {
		if err := c.message.Verify(message, c.opt.prefixed); err != nil {
			return dst, err
		}
	}
	if c.opt.prefixed {
		message = message[min(flatwire.SizePrefix, len(message)):]
	}
	w := writer{opt: &c.opt, out: dst, limit: len(dst) + c.opt.maxOutput}
	root := flatbuffers.Root(c.root, message)
	if !root.Exists() {
		return dst, diag.NewFault(diag.UnexpectedEOF, 0, "the message has no root")
	}
	if fault := w.value(root, 0); fault != nil {
		return dst, fault
	}
	return w.out, nil
}

// AppendMessage appends the message that JSON means to dst. Its alignment counts
// from its own start. On an error it returns dst as it was.
func (c *Converter) AppendMessage(dst, json []byte) ([]byte, error) {
	r, ok := c.readers.Get().(*reader)
	if !ok {
		r = &reader{p: flatpack.Packer{Builder: flatbuf.NewBuilder(0)}}
	}
	defer c.keep(r)
	if err := c.finish(r, json); err != nil {
		return dst, err
	}
	return append(dst, r.p.Builder.FinishedBytes()...), nil
}

// keep makes a reader ready for another message, unless it holds much.
func (c *Converter) keep(r *reader) {
	if cap(r.text) > flatpack.MaxKept || cap(r.offsets) > flatpack.MaxKept/4 || cap(r.tags) > flatpack.MaxKept/32 || !r.p.Renew() {
		return
	}
	c.readers.Put(r)
}

// BuildMessage makes the message that JSON means in b, in which nothing is begun,
// and finishes it. After an error b must be reset.
func (c *Converter) BuildMessage(b *flatbuf.Builder, json []byte) error {
	return c.finish(&reader{p: flatpack.Packer{Builder: b}}, json)
}

// finish builds and finishes a message.
func (c *Converter) finish(r *reader, json []byte) error {
	root, err := c.build(r, json)
	if err != nil {
		return err
	}
	c.message.Finish(r.p.Builder, root, c.opt.prefixed)
	return nil
}

// Build writes the root table that JSON means to b, in which nothing is
// begun, and returns its offset. After an error b must be reset.
func (c *Converter) Build(b *flatbuf.Builder, json []byte) (flatbuf.UOffsetT, error) {
	return c.build(&reader{p: flatpack.Packer{Builder: b}}, json)
}

func (c *Converter) build(r *reader, json []byte) (flatbuf.UOffsetT, error) {
	if err := flatpack.CheckInput(json); err != nil {
		return 0, err
	}
	r.b, r.i, r.opt, r.text = json, 0, &c.opt, r.text[:0]
	root, fault := r.document(c.root)
	r.b = nil
	if fault != nil {
		return 0, fault
	}
	return root, nil
}
