package dynamic

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds what packages see that follow the same paths in other
// formats than Thrift's.

// StepKind tells steps apart.
type StepKind uint8

// The kinds of steps, with what Number and Text of a Step hold.
const (
	NoStep        = StepKind(stepNone)   // the zero Step
	FieldStep     = StepKind(stepField)  // Number: the id
	NameStep      = StepKind(stepName)   // Text: the name
	IndexStep     = StepKind(stepIndex)  // Number: the index
	BeforeStep    = StepKind(stepBefore) // Number: the index
	EndStep       = StepKind(stepEnd)
	NumberStep    = StepKind(stepNumber) // Number: an index or an integer key, as the value has it
	StringKeyStep = StepKind(stepString) // Text: the bytes
	IntKeyStep    = StepKind(stepInt)    // Number: the key
	UintKeyStep   = StepKind(stepUint)   // Number: the bits of a key that an int64 cannot hold
	BoolKeyStep   = StepKind(stepBool)   // Number: 0 or 1
	DoubleKeyStep = StepKind(stepDouble) // Number: the bits
	NodeKeyStep   = StepKind(stepValue)  // Number: the wire type; Text: the key in the binary protocol
)

// Kind returns what kind of step s is.
func (s Step) Kind() StepKind {
	if s.kind == stepFar {
		return FieldStep
	}
	return StepKind(s.kind)
}

// Number returns the number that the step holds, if its kind has one.
func (s Step) Number() int64 { return s.num }

// Text returns the text that the step holds, if its kind has one.
func (s Step) Text() string { return s.text }

// Locate adds the step to the path of f.
func (s Step) Locate(f *diag.Fault) { s.locate(f) }

// FieldNumber is [Field] for formats whose fields have longer ids than
// Thrift's, such as Protobuf.
func FieldNumber(id int32) Step {
	if id != int32(int16(id)) {
		return Step{kind: stepFar, num: int64(id)}
	}
	return Field(int16(id))
}

// UintKey is [IntKey] for unsigned keys, which Protobuf has.
func UintKey(n uint64) Step {
	if n > math.MaxInt64 {
		return Step{kind: stepUint, num: int64(n)}
	}
	return IntKey(int64(n))
}

// FieldOf returns the field of d that the step leads to, or why there is none.
func (s Step) FieldOf(d *schema.StructDef) (*schema.Field, *diag.Fault) {
	var f *schema.Field
	switch s.kind {
	case stepField, stepFar:
		f = d.FieldByID(int32(s.num))
	case stepName:
		f = d.FieldByName(s.text)
	default:
		return nil, diag.NewFault(diag.TypeMismatch, -1, "the step "+s.String()+" does not lead into the struct "+d.Name())
	}
	if f == nil {
		return nil, diag.NewFault(diag.UnknownField, -1, d.Name()+" has no field "+s.String()[1:])
	}
	return f, nil
}
