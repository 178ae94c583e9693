package dynamic

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the codes that walks return and the faults made of them.

// Results of walks beside those of package thriftwire, which are negative.
const (
	absent   = 1    // there is nothing at the path
	mismatch = -100 // another wire type than the schema or the step asks for
)

// maxDepth is the deepest nesting that is followed.
const maxDepth = 1024

// fault makes the error for a walk's negative code.
func fault(code, at int) *diag.Fault {
	switch code {
	case thriftwire.ErrEOF:
		return diag.NewFault(diag.UnexpectedEOF, at, "the message ends inside a value")
	case thriftwire.ErrLength:
		return diag.NewFault(diag.InvalidLength, at, "a length is negative")
	case thriftwire.ErrData:
		return diag.NewFault(diag.InvalidData, at, "bytes that no value of the type has")
	case thriftwire.ErrDepth:
		return diag.NewFault(diag.DepthLimit, at, "nested deeper than the limit of "+strconv.Itoa(maxDepth))
	case mismatch:
		return diag.NewFault(diag.TypeMismatch, at, "another wire type than expected")
	default:
		return diag.NewFault(diag.InvalidType, at, "a wire type that does not exist")
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

// along adds the steps to the path of f, the last one first.
func along(f *diag.Fault, steps []Step) *diag.Fault {
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].locate(f)
	}
	return f
}

var wireTypes = [...]thriftwire.Type{
	schema.Bool: thriftwire.Bool, schema.I8: thriftwire.I8, schema.I16: thriftwire.I16, schema.I32: thriftwire.I32,
	schema.I64: thriftwire.I64, schema.Float: thriftwire.Float, schema.Double: thriftwire.Double,
	schema.String: thriftwire.String, schema.Binary: thriftwire.String, schema.UUID: thriftwire.UUID,
	schema.Enum: thriftwire.I32, schema.List: thriftwire.List, schema.Set: thriftwire.Set,
	schema.Map: thriftwire.Map, schema.Struct: thriftwire.Struct,
}

// wireOf returns the wire type of t, Stop for nil and for void.
func wireOf(t *schema.Type) thriftwire.Type {
	if t == nil {
		return thriftwire.Stop
	}
	return wireTypes[t.Kind()]
}

// agrees reports whether a part of wire type got may stand where the schema
// has t, which is nil where there is no schema.
func agrees(t *schema.Type, got thriftwire.Type) bool { return t == nil || wireOf(t) == got }
