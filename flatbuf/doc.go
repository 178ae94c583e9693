// Package flatbuf is the FlatBuffers runtime: it builds, verifies and reads
// messages. Types, functions and methods that Google's Go runtime has keep their
// names and signatures here, so that code written for that needs another import and no
// other change. What generated code does is done here; it knows no schema but what a
// [Layout] says, no transport and no other format.
//
// # Building
//
// A [Builder] makes a message from its end to its start. Its zero value is
// ready, and a [Pool] keeps builders and learns how large their messages are.
// A builder that is reused allocates nothing once its memory is large enough.
// The methods with Google's names produce the very bytes of Google's builder;
// StartTable is the faster way to write a table, for generated code.
//
// FinishedBytes is overwritten by the builder's next message. Whoever sends it
// either keeps the builder until it is sent, or takes it by Detach.
//
// # Reading
//
// Accessors never read outside the buffer and never panic, on any bytes: a
// number that lies outside is 0, a part that lies outside is absent or empty.
// Only a [Verifier] tells a whole message from a broken one; by the rules of
// Google's C++ verifier, with limits on depth, number of tables and work. After
// it has said yes, accessors find everything that the message refers to.
//
// Byte slices that accessors return alias the buffer. A buffer that nobody changes
// may be read by several goroutines; a Builder belongs to one.
//
// # Errors
//
// Errors about messages are *[diag.Fault]: code, byte offset and field path.
// Misuse of a Builder panics, as in Google's runtime.
//
// # Limits
//
// A message is shorter than 2 GiB, also one with offsets and vectors of 64 bits.
package flatbuf
