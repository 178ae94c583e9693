package inspect

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file goes over FlatBuffers messages, which tell nothing without a schema. What can be
// read of a message is shown; then comes what its verifier says.

// flatWalker goes over one message. Parts may be shared, so that a small message
// can be a long walk: it ends when left is spent.
type flatWalker struct {
	out   *printer
	base  int // of the message in the input
	left  int
	level int
}

// maxFlatLevel is the deepest level of the tree: tables as deep as verifiers let them be, in vectors.
const maxFlatLevel = 2*flatwire.MaxDepth + 2

// writeFlat is Write for FlatBuffers.
func writeFlat(w io.Writer, data []byte, o Options) error {
	out := &printer{options: &o, width: len(fmt.Sprint(len(data)))}
	prefixed := o.Format.Framing == Framed || o.Format.Framing == 0 && hasSize(data)
	title := "FlatBuffers, "
	if prefixed {
		title += "size-prefixed, "
	}
	out.title(title + count(len(data), "byte"))
	fault := flatMessages(out, data, prefixed, o.Struct)
	if fault != nil {
		out.fault(data, fault)
	}
	out.finish()
	if _, err := w.Write(out.text); err != nil {
		return err
	}
	if fault != nil {
		return fault
	}
	return nil
}

// hasSize reports whether data starts with the size of what follows, or of several such messages.
func hasSize(data []byte) bool {
	_, rest, ok := flatwire.CutPrefix(data)
	for ok && len(rest) > 0 {
		_, rest, ok = flatwire.CutPrefix(rest)
	}
	return ok
}

// flatMessages shows messages up to the end of data. What is wrong with one is placed in data.
func flatMessages(out *printer, data []byte, prefixed bool, def *schema.StructDef) *diag.Fault {
	if def == nil {
		return diag.NewFault(diag.Unsupported, 0, "FlatBuffers tell nothing without a schema")
	}
	layout, err := flatbuf.LayoutOf(def)
	if err != nil {
		return diag.NewFault(diag.Unsupported, 0, err.Error())
	}
	verifier, err := flatbuf.NewVerifier(layout, 0)
	if err != nil {
		return diag.NewFault(diag.Unsupported, 0, err.Error())
	}
	for at := 0; at == 0 || at < len(data); {
		start, message := at, data[at:]
		verify := verifier.Verify
		if prefixed {
			verify = verifier.VerifySizePrefixed
			inner, rest, ok := flatwire.CutPrefix(message)
			if !ok {
				return diag.NewFault(diag.UnexpectedEOF, at, "the input ends inside a message")
			}
			out.line(at, 0, "size", strconv.Itoa(len(inner)-flatwire.SizePrefix), "")
			message = message[:len(message)-len(rest)]
			start += flatwire.SizePrefix
		}
		at += len(message)
		k := &flatWalker{out: out, base: start, left: 16*len(message) + 1<<16}
		k.message(data[start:at], def)
		if err := verify(message); err != nil {
			var fault *diag.Fault
			if !errors.As(err, &fault) {
				fault = diag.NewFault(diag.InvalidData, 0, err.Error())
			}
			// The place of a part that is missing may lie behind the end.
			fault.Offset = min(max(fault.Offset, 0)+at-len(message), at)
			return fault
		}
	}
	return nil
}

// message shows a message without its size.
func (k *flatWalker) message(b []byte, def *schema.StructDef) {
	if id := def.File().Identifier(); id != "" && def.File().Root() == def {
		note := ""
		if !flatwire.HasIdentifier(b, 0, id) {
			note = "the schema has " + strconv.Quote(id)
		}
		k.out.line(k.base+4, k.level, "identifier", quote(flatwire.Identifier(b, 0), 0), note)
	}
	root := flatbuffers.Root(def, b)
	if root.Exists() {
		k.value(root, def.FullName())
	}
}

// value shows a value and what it holds.
func (k *flatWalker) value(v flatbuffers.Value, label string) {
	if k.left--; k.left < 0 || !k.out.visible() {
		return
	}
	if !v.Exists() {
		k.out.line(k.base, k.level, label, "", "lies outside the message, or is of a type that the schema does not have")
		return
	}
	at := k.base + v.Offset()
	if k.level > maxFlatLevel {
		k.out.line(at, k.level, label, "", "nested deeper than is shown")
		return
	}
	t := v.Type()
	if m := v.Member(); m != nil {
		label += " (" + m.Name() + ")"
	}
	switch t.Kind() {
	case schema.Struct:
		k.fields(v, at, label)
	case schema.List, schema.Array:
		k.elements(v, at, label)
	case schema.String:
		b, _ := v.Bytes()
		k.out.line(at, k.level, label, quote(b, k.out.options.MaxText), "")
	default:
		k.out.line(at, k.level, label, flatScalar(v), "")
	}
}

// fields shows a table or struct.
func (k *flatWalker) fields(v flatbuffers.Value, at int, label string) {
	def := v.Type().Struct()
	note := ""
	if id, ok := v.Unknown(); ok {
		note = "field " + strconv.Itoa(id) + " is unknown to " + def.Name()
	}
	k.out.line(at, k.level, label, "", note)
	k.level++
	for f, x := range v.Fields() {
		k.value(x, f.Name()+": "+f.Type().String())
		if f.Nested() == nil {
			continue
		}
		if b, err := x.Bytes(); err == nil {
			base := k.base
			k.base, k.level = base+x.Offset(), k.level+1
			k.message(b, f.Nested())
			k.base, k.level = base, k.level-1
		}
	}
	k.level--
}

// elements shows a vector or array.
func (k *flatWalker) elements(v flatbuffers.Value, at int, label string) {
	if b, err := v.Bytes(); err == nil && v.Type().Elem().Kind() == schema.U8 {
		k.out.line(at, k.level, label, hexText(b, k.out.options.MaxText), "")
		return
	}
	k.out.line(at, k.level, label+", "+count(v.Len(), "element"), "", "")
	k.level++
	elem := v.Type().Elem().Struct()
	unions := elem != nil && elem.Tag() != nil
	for i := range v.Len() {
		if limit := k.out.options.MaxParts; limit > 0 && i == limit {
			k.out.line(at, k.level, "… "+count(v.Len()-limit, "more element"), "", "")
			break
		}
		if k.left < 0 || !k.out.visible() {
			break
		}
		label := "[" + strconv.Itoa(i) + "]"
		if unions && v.ElementTag(i) == 0 {
			k.left--
			k.out.line(at, k.level, label, "NONE", "")
			continue
		}
		k.value(v.Index(i), label)
	}
	k.level--
}

// flatScalar renders a number.
func flatScalar(v flatbuffers.Value) string {
	if t := v.Type(); t.Kind() == schema.Enum {
		if n, err := v.Int(); err == nil {
			return enumText(n, t.Enum())
		}
	}
	if b, err := v.Bool(); err == nil {
		return strconv.FormatBool(b)
	}
	if f, err := v.Float(); err == nil {
		bits := 64
		if v.Type().Kind() == schema.Float {
			bits = 32
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	if n, err := v.Int(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	n, _ := v.Uint()
	return strconv.FormatUint(n, 10)
}
