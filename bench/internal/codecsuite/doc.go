// Package codecsuite is the suite "codec": tagged Go structs to Thrift bytes
// and back, ours against Frugal, the FastCodec that the kitex tool generates,
// the Apache library with code of Apache's compiler, and the same work written
// by hand (the peer "limit").
//
// What a ratio means here:
//
//   - marshal is the size pass and the encoding into a reused buffer, for every
//     contestant that has a size pass; Apache writes into a reused memory buffer.
//   - unmarshal fills a struct that is set to its zero value before each
//     operation; everything below the outermost struct is new each time.
//   - Ours, Frugal and FastCodec use one and the same Go types (kitex's, with
//     frugal tags). Apache uses those of its compiler, which have the same shape.
//   - fastcodec-span is FastCodec with its span cache switched on, a mode that
//     Kitex offers and leaves off.
//   - The peer binary, on lines of the compact protocol, is ours in the same
//     mode with the binary protocol.
//
// The generated code is in internal/gen; idl/generate.sh writes it again.
package codecsuite
