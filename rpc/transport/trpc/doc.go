// Package trpc holds the frames of the tRPC protocol, without a network: the
// head of sixteen bytes, the Protobuf headers of calls and streams, compression of
// bodies and the protocol's codes. Everything is read in place: what is parsed aliases its
// input. It knows no connection, and of bodies only their bytes.
//
// A frame is a [Head], the header of a unary call ([Request], [Response]), its body and its
// attachment; or a Head and what its stream type says: [Init], a message, [Feedback] or [Close].
// Multi-byte numbers of the head are big-endian.
package trpc
