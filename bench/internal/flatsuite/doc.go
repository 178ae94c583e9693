// Package flatsuite is the suite "flatbuffers": messages of 6 to 1286 fields,
// without maps (f6 … f1126) and with maps (m6 … m1286), built, read, verified and
// passed through the object form, ours against Google's Go runtime and protobuf-go.
//
// Messages are those of internal/gen/flat, which generate/ writes. Ours is what package gen makes
// of the schemas of the shapes, as users get it: typed builders, accessors, the object form and
// verifiers. Google's side is the statements that flatc's code consists of, written by generate/, with
// what flatc repeats for each field as functions: google builds with a builder that is reused by Reset and
// without a slice per vector, google-object with the object form's Pack.
//
// Works: build is from values to bytes by the typed builders, also against our object form (pack);
// marshal the same by our codec of plain Go structs, also against our generated code (typed, pack);
// object is from a Go struct to bytes and from bytes to a fresh Go struct, by the object form, also against the
// codec of plain structs (structs); read and read-some read all fields and a tenth; roundtrip builds and reads.
// Where ours reads a message that arrived, object and roundtrip, it verifies it first;
// Google's Go runtime cannot. protobuf sets the fields of a message, marshals it
// and in the round trip unmarshals it and reads all fields. vtprotobuf does so by the methods
// of its own generator, which generate/ runs at the version of go.mod.
//
// All this code is 6 MB, and that of vtprotobuf 4 more, so that of large shapes is not kept. The suite has
// generate/ write it, and starts anew with the build tag large, which compiles it in half a minute. The
// tag vtprotobuf compiles vtprotobuf's methods of shapes with more than 286 fields too, in some minutes.
//
// The work rpc-cpu is calls between two processes, over tRPC, ours against
// trpc-go with FlatBuffers and with Protobuf: unary, and to and fro on streams. Its time is the processor
// time of both sides per call.
package flatsuite
