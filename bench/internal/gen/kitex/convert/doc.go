// Package convert is the output of the kitex tool for idl/transcode.thrift:
// structs with frugal tags and FastCodec. It must not be edited.
package convert
