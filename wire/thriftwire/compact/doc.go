// Package compact reads and writes the primitive parts of Thrift's compact
// protocol, under the same names and rules as package thriftwire does those of
// the binary protocol: stateless functions on byte slices, negative results as
// errors (thriftwire.Error makes Go errors of them), results that alias the
// input with their capacity cut.
//
// # Dialects
//
// Apache Thrift and fbthrift write different doubles and give one type code
// two meanings; what differs is a method of [Dialect]. A reader learns the
// peer's dialect from the envelope of a message and answers in the same.
//
// # State
//
// A field's header holds the distance to the id of the field before it in the
// same struct, so writing and reading one takes that id, 0 for the first. The
// value of a bool field is part of its header.
//
// # Limits
//
// A varint that is longer than its type ever needs, or holds more bits than
// the type has, is ErrData. One that is padded within that length is accepted,
// as every other implementation does.
//
// The package knows no schema. It is safe for concurrent use.
package compact
