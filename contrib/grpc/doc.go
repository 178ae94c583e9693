// Package grpc holds the tests of Thrum's gRPC against grpc-go, whose
// dependencies are no others' business: its client calls Thrum's server and Thrum's
// client its server, calls and streams, with FlatBuffers by Google's runtime and codec, and with
// Protobuf, on that side. There is nothing here to import.
package grpc
