// Package kitex lets Kitex services and clients encode and decode with Thrum,
// by one option:
//
//	server.WithPayloadCodec(kitex.New())
//	client.WithPayloadCodec(kitex.New())
//
// # What it takes
//
// It takes the arguments and results of Thrift methods whose structs carry
// frugal tags, or thrift tags that tell each type, as the kitex tool writes
// them for its slim and default templates alike. It works over framed, TTHeader
// and plain buffered transports, on netpoll and on Go's net, and the bytes are
// those of Kitex: the other side need not know. What only Kitex can do is left to the codec
// that Kitex would use without this one:
//
//   - structs without tags, or with old tags that do not tell an enum from an
//     i64 or a list from a set;
//   - structs with unknown fields kept in a type of their own;
//   - generic calls, Protobuf methods, and exceptions of the framework.
//
// [ReadOnly] and [WriteOnly] leave the other direction to Kitex as well. Slim structs
// have no code of their own to fall back on: where Kitex's codec would refuse
// them, "codec msg type not match with thriftCodec", this one takes them whatever the option.
//
// Streams (over gRPC or TTHeader) do not ask a payload codec, so this one does not see them.
//
// # Limits
//
// A message beyond [MaxMessage] is refused, read or written. Nesting beyond
// codec.DefaultMaxDepth is refused too, and reading never takes more memory
// than a small multiple of what has arrived, whatever a length claims. Decoding errors become remote.TransError with
// remote.ProtocolError, around a *diag.Fault with offset and path.
//
// # Memory
//
// Strings and binaries of codec.DirectSize bytes and more are written without
// copying where the transport can (netpoll); like Kitex's own codec this reads them
// until the message is sent, so a handler must not change what it has returned. What is decoded never
// aliases Kitex's buffers: a message with fields tagged nocopy is copied once, whole.
//
// A codec is safe for concurrent use, on clients and servers at once.
package kitex
