// Package trpc holds the tests of Thrum's tRPC against trpc-go 1.0.4, whose
// dependencies are no others' business: its client calls Thrum's server and Thrum's
// client its server, calls and streams, with FlatBuffers by Google's runtime on that side. There is
// nothing here to import.
package trpc
