// Package calls is the output of the kitex tool for idl/rpc.thrift: structs
// with FastCodec, and the service. It must not be edited.
package calls
