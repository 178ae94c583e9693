// Package shapes is the output of the kitex tool for idl/codec.thrift: structs
// with frugal tags and FastCodec. It must not be edited.
package shapes
