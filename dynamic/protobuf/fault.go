package protobuf

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the faults that are made of walks' negative codes, and what
// the schema says of the wire.

// maxDepth is the deepest nesting that is followed.
const maxDepth = 1024

// fault makes the error for a walk's negative code.
func fault(code, at int) *diag.Fault {
	switch code {
	case protowire.ErrEOF:
		return diag.NewFault(diag.UnexpectedEOF, at, "the message ends inside a value")
	case protowire.ErrLength:
		return diag.NewFault(diag.InvalidLength, at, "a length is above the limit")
	case protowire.ErrDepth:
		return diag.NewFault(diag.DepthLimit, at, "nested deeper than the limit of "+strconv.Itoa(maxDepth))
	case protowire.ErrType:
		return diag.NewFault(diag.InvalidType, at, "a wire type that does not exist")
	default:
		return diag.NewFault(diag.InvalidData, at, protowire.Describe(code))
	}
}

// wrongType is the fault for a value that is not what the caller asked for.
func wrongType(at int, want, got string) *diag.Fault {
	return diag.NewFault(diag.TypeMismatch, at, "type mismatch: "+want+" expected, got "+got)
}

// notFound is the fault for reading or changing what is not there.
func notFound() *diag.Fault {
	return diag.NewFault(diag.NotFound, -1, "there is no value")
}

// asError returns f as an error that is nil if f is.
func asError(f *diag.Fault) error {
	if f == nil {
		return nil
	}
	return f
}

// noWire is the wire type of what Protobuf does not have.
const noWire = protowire.Type(0xff)

// wires has the wire types of single values by kind and encoding.
var wires = func() (t [schema.Struct + 1][schema.Delimited + 1]protowire.Type) {
	set := func(w protowire.Type, kinds ...schema.Kind) {
		for _, k := range kinds {
			t[k] = [...]protowire.Type{w, w, w, w}
		}
	}
	for k := range t {
		set(noWire, schema.Kind(k))
	}
	set(protowire.Varint, schema.Bool, schema.Enum, schema.I32, schema.U32, schema.I64, schema.U64)
	set(protowire.Bytes, schema.String, schema.Binary, schema.Struct)
	set(protowire.Fixed32, schema.Float)
	set(protowire.Fixed64, schema.Double)
	t[schema.I32][schema.Fixed], t[schema.U32][schema.Fixed] = protowire.Fixed32, protowire.Fixed32
	t[schema.I64][schema.Fixed], t[schema.U64][schema.Fixed] = protowire.Fixed64, protowire.Fixed64
	t[schema.Struct][schema.Delimited] = protowire.StartGroup
	return t
}()

// wireOf returns the wire type of one value of type t; of an element for a list
// and of an entry for a map.
func wireOf(t *schema.Type) protowire.Type {
	switch k := t.Kind(); k {
	case schema.Map:
		if supported(t) {
			return protowire.Bytes
		}
	case schema.List:
		if elem := t.Elem(); !elem.Kind().IsContainer() {
			return wires[elem.Kind()][elem.Encoding()]
		}
	default:
		return wires[k][t.Encoding()]
	}
	return noWire
}

// packable reports whether elements of that wire type may stand one after
// another behind one length.
func packable(w protowire.Type) bool {
	return w == protowire.Varint || w == protowire.Fixed32 || w == protowire.Fixed64
}

// fits reports whether a record of wire type got may hold a value, or elements,
// of type t.
func fits(t *schema.Type, got protowire.Type) bool {
	if k := t.Kind(); !k.IsContainer() {
		return got == wires[k][t.Encoding()]
	}
	return fitsContainer(t, got)
}

func fitsContainer(t *schema.Type, got protowire.Type) bool {
	want := wireOf(t)
	return got == want || got == protowire.Bytes && t.Kind() == schema.List && packable(want)
}

// noProtobuf is the fault for a type of another format's schema.
func noProtobuf(t *schema.Type) *diag.Fault {
	return diag.NewFault(diag.Unsupported, -1, "Protobuf has no values of type "+t.String())
}
