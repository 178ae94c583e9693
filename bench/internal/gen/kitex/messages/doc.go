// Package messages is the output of the kitex tool for idl/dynamic.thrift:
// structs with frugal tags and FastCodec. It must not be edited.
package messages
