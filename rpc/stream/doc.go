// Package stream holds one stream of messages between a client and a server:
// what is queued, how much may be sent, which half is closed, and how it ends.
//
// A [Stream] is one side of one stream. Its wire adapter, which speaks a
// protocol over a connection, gives it a [Wire] to send frames by, and tells
// it by its On methods of the frames that come in. Users see the typed half:
// [BidiStreamingClient], [ServerStreamingServer] and their kin.
//
// # Life
//
// Each side sends a header, messages, and a close. The client's close is a
// half-close: the server may go on sending. The server's close carries the
// outcome and a trailer and ends the stream. Either side may reset the stream
// instead, which ends it at once and drops what is queued. A stream ends
// exactly once; its context ends with it, and [context.Cause] of that says why.
//
// # Errors
//
// Recv returns [io.EOF] when the peer has closed regularly, the outcome that
// the server sent if it is a failure, and otherwise an [*Error], which has a
// [Code] and unwraps to its cause: errors.Is(err, context.DeadlineExceeded)
// works. After the end Send returns what Recv does.
//
// # Limits
//
// What has been received and not been taken is bounded in bytes and in
// messages. Where the wire has credits, a peer that exceeds its credit by more
// than one message has its stream reset; where it has none, the adapter
// stops reading until there is room, and resets a stream whose user takes
// nothing for too long. A Send waits for credit and for the network at most
// as long as Options.Expiry says.
//
// # Concurrency
//
// One goroutine may send while another receives. Two that send wait for each
// other. All other methods may be called by anyone at any time.
//
// The package must not know a network, a protocol or how a message is encoded.
package stream
