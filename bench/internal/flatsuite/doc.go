// Package flatsuite is the suite "flatbuffers": messages of 6 to 1286 fields,
// without maps (f6 … f1126) and with maps (m6 … m1286), built, read, verified and
// passed through the object form, ours against Google's Go runtime and protobuf-go.
//
// Messages are those of internal/gen/flat. Google's side is written as flatc
// writes it: google builds with a builder that is reused by Reset and without
// a slice per vector, google-object with the object form's Pack.
//
// Works: build is from values to bytes, by generated code; marshal the same by
// our codec of plain Go structs, also against our generated code (typed);
// object is from a Go struct to bytes and from bytes to a fresh Go struct,
// read and read-some read all fields and a tenth; roundtrip builds and reads.
// Where ours reads a message that arrived, object and roundtrip, it verifies it first;
// Google's Go runtime cannot. protobuf sets the fields of a message, marshals it
// and in the round trip unmarshals it and reads all fields. vtprotobuf does so by the methods
// of its own generator, which generate/ runs at the version of go.mod; those of shapes
// with more than 286 fields are megabytes and are not kept: generate writes them, and
// the build tag vtprotobuf compiles them.
//
// The work rpc-cpu is calls between two processes, over tRPC, ours against
// trpc-go with FlatBuffers and with Protobuf: unary, and to and fro on streams. Its time is the processor
// time of both sides per call.
package flatsuite
