package inspect

import (
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds what callers see, and the outermost level of the tree:
// frames, envelopes and values one after another.

// Options say how a message is read and how much of it is shown. The zero
// value finds the format out and shows everything.
type Options struct {
	Format Format

	// Struct is the type of values without an envelope, nil if nobody knows it.
	Struct *schema.StructDef
	// Method returns the method of a message's name, or nil; it may be nil.
	Method func(name string) *schema.Method

	MaxBytes int  // bound of the output in bytes, 0 for none; a fault is shown beyond it
	MaxParts int  // bound of the elements shown of each list, set and map, 0 for none
	MaxText  int  // bound of the bytes shown of each string and binary, 0 for none
	Color    bool // for a terminal
}

// maxDepth is the deepest nesting that is followed, as deep as the codec
// decodes by default.
const maxDepth = 1024

// Write shows what data holds: values one after another up to its end. The
// error is a [*diag.Fault] if data cannot be read, or the first error of w.
func Write(w io.Writer, data []byte, o Options) error {
	if o.Format.Protocol == FlatBuffers {
		return writeFlat(w, data, o)
	}
	if o.Format.Protocol == Protobuf { // which has nothing to guess
		o.Format.Framing, o.Format.Envelope = max(o.Format.Framing, Unframed), Bare
	}
	f, remark := o.Format, ""
	if f.open() {
		f, remark = detect(data, &o)
	}
	out := &printer{options: &o, width: len(fmt.Sprint(len(data)))}
	title := f.String()
	if remark != "" {
		title += " (" + remark + ")"
	}
	out.title(fmt.Sprintf("%s, %s", title, count(len(data), "byte")))
	k := &walker{in: data, format: f, options: &o, out: out}
	if p := k.values(); p < 0 {
		out.fault(data, k.fault)
	}
	out.finish()
	if _, err := w.Write(out.text); err != nil {
		return err
	}
	if k.fault != nil {
		return k.fault
	}
	return nil
}

// walker goes over a message. Its methods take a position and return the one
// after what they read; a negative one says that fault is set.
type walker struct {
	in      []byte // up to the end of what may be read: a frame's, or the input's
	format  Format
	options *Options
	wire    protocol
	out     *printer // shows nothing while formats are tried
	level   int      // of the tree
	depth   int      // levels of nesting that are open
	fault   *diag.Fault

	entries map[*schema.Type]*schema.StructDef // of Protobuf's maps

	first int // where the first value ended
	known int // fields that the schema has
	odd   int // fields that it has not, or with another type
}

const failed = -1

// values reads frames, messages or structs up to the end of the input.
func (k *walker) values() int {
	if len(k.in) == 0 {
		if k.format.Protocol == Protobuf && k.format.Framing == Unframed {
			return k.protobufItem(0) // a message whose fields are all absent
		}
		return k.fail(diag.UnexpectedEOF, 0, "there is nothing to show")
	}
	p := 0
	for i := 0; p < len(k.in); i++ {
		if k.format.Framing == Framed || k.format.headed() {
			p = k.frame(p)
		} else {
			p = k.item(p)
		}
		if p < 0 {
			if i > 0 {
				k.fault.Index(i)
			}
			return p
		}
		if i == 0 {
			k.first = p
		}
	}
	return p
}

// frame reads a frame and what is in it.
func (k *walker) frame(p int) int {
	size, n := thriftwire.ConsumeI32(k.in[p:])
	switch {
	case n < 0:
		return k.wireError(n, p)
	case size <= 0:
		return k.fail(diag.InvalidLength, p, fmt.Sprintf("a frame of %d bytes", size))
	}
	k.out.line(p, k.level, "frame of "+count(int(size), "byte"), "", "")
	whole := k.in
	end := p + n + int(size)
	cut := end > len(whole)
	if !cut {
		k.in = whole[:end]
	}
	k.level++
	after := 0
	if k.format.headed() {
		after = k.headed(p + n)
	} else {
		after = k.item(p + n)
	}
	k.level--
	k.in = whole
	switch {
	case after < 0:
		return after
	case cut:
		return k.fail(diag.UnexpectedEOF, p, fmt.Sprintf("the frame has %d bytes, %d remain", size, len(whole)-p-n))
	case after < end:
		return k.fail(diag.TrailingData, after, count(end-after, "byte")+" of the frame follow its value")
	}
	return after
}

// item reads a message or a struct.
func (k *walker) item(p int) int {
	if k.format.Protocol == Protobuf {
		return k.protobufItem(p)
	}
	k.wire = binaryProtocol{}
	switch k.format.Protocol {
	case Compact:
		k.wire = compactProtocol{compact.Apache}
	case CompactFBThrift:
		k.wire = compactProtocol{compact.FBThrift}
	}
	if k.format.Envelope == Bare {
		label := "struct"
		if k.options.Struct != nil {
			label = k.options.Struct.Flavor().String() + " " + k.options.Struct.Name()
		}
		k.out.line(p, k.level, label, "", "")
		return k.structure(p, k.options.Struct)
	}
	m, n := k.envelope(p)
	if n < 0 {
		return k.wireError(n, p)
	}
	k.out.line(p, k.level, k.format.messageName(), fmt.Sprintf("%s %s, sequence id %d", m.Type, quote(m.Name, k.options.MaxText), m.SequenceID), "")
	p += n
	label, def := k.body(m)
	k.out.line(p, k.level, label, "", "")
	return k.structure(p, def)
}

// envelope reads the envelope of a message.
func (k *walker) envelope(p int) (m thriftwire.Message, n int) {
	switch {
	case k.format.Protocol != Binary:
		var d compact.Dialect
		if m, d, n = compact.ConsumeMessage(k.in[p:]); n > 0 {
			k.wire = compactProtocol{d}
		}
	case k.format.Envelope == NonStrict:
		m, n = thriftwire.ConsumeNonStrictMessage(k.in[p:])
	default:
		m, n = thriftwire.ConsumeMessage(k.in[p:])
	}
	return m, n
}

// body says what the struct of a message is.
func (k *walker) body(m thriftwire.Message) (label string, def *schema.StructDef) {
	if m.Type == thriftwire.Exception {
		return "exception of the protocol", applicationException()
	}
	var method *schema.Method
	if k.options.Method != nil {
		method = k.options.Method(string(m.Name))
	}
	label = "arguments"
	if m.Type == thriftwire.Reply {
		label = "result"
	}
	if method == nil {
		return label, nil
	}
	label += " of " + method.Service().Name() + "." + method.Name()
	if m.Type == thriftwire.Reply {
		return label, method.Result()
	}
	return label, method.Args()
}

// applicationException is the struct that servers send in place of a result.
func applicationException() *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: "TApplicationException"}, schema.Exception)
	d.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "message", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "type", Type: schema.Basic(schema.I32)}),
	})
	return d
}

func (k *walker) fail(code diag.Code, p int, detail string) int {
	k.fault = diag.NewFault(code, p, detail)
	return failed
}

// wireError is the fault for the negative result n of package thriftwire at p.
func (k *walker) wireError(n, p int) int {
	switch n {
	case thriftwire.ErrEOF:
		return k.fail(diag.UnexpectedEOF, p, "the message ends inside a value")
	case thriftwire.ErrLength:
		return k.fail(diag.InvalidLength, p, "a length is negative or exceeds the limit")
	case thriftwire.ErrDepth:
		return k.fail(diag.DepthLimit, p, fmt.Sprintf("nested deeper than the limit of %d", maxDepth))
	case thriftwire.ErrVersion:
		return k.fail(diag.InvalidHeader, p, "this is not the envelope of a message")
	case thriftwire.ErrData:
		return k.fail(diag.InvalidData, p, "bytes that no value of the type has")
	default:
		return k.fail(diag.InvalidType, p, "a wire type that does not exist")
	}
}

// count renders n with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
