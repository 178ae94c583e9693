// Package rpc serves and calls Thrift services.
//
// A [Server] serves any stream listener (TCP, Unix sockets, memory) and finds
// out from a connection's first bytes which dialect it speaks: strict binary
// and compact (of Apache and of fbthrift) with and without frames,
// fbthrift's header transport with both protocols, zlib and zstd, CloudWeGo's
// TTHeader, tRPC, and posts over HTTP/1.1 and HTTP/2, each of them in the clear and, with the option TLS, inside TLS. It answers each call in the form in which it came. A [Client] is one connection, in a dialect that
// its options choose, that any number of goroutines share.
//
// Generated code meets this package in a few types: [Caller] is what a
// generated client calls on, [Service] and [Method] are what a generated
// server registers, and [Unary], [Oneway], [Call] and [Send] join them to Go
// structs. Handwritten code may use the same functions, or work on encoded
// bytes through the fields of Method and [Invocation].
//
// # Messages of other formats
//
// A method may also serve messages of a format of its own, FlatBuffers above all, which
// travel over tRPC and gRPC: see [Method.Message], [DialMessages], and package flatrpc, which joins them to
// generated types. Such methods stand in the same table, and pass the same admission.
//
// # How handlers answer
//
// A handler has one of three forms, or several of which the first serves:
// a callback ([UnaryCallback]) runs where its connection is read, must not wait, and
// answers by a [Responder], then or later; a future ([UnaryFuture]) is started by a worker and
// answers later; a plain one ([Unary]) has a worker until it returns. Workers are
// shared by all connections, and take calls by their [Priority]. The handler's context
// carries deadline and cancellation, and [Info] tells of the call's headers and peer.
//
// # What travels with a call
//
// A call that a handler makes with its context keeps the deadline, what is left of it, and the
// priority and persistent metadata ([WithPersistent]) of the handler's own call; headers
// ([WithHeader]) are for the next server alone. THeader, TTHeader and HTTP carry all that;
// behind framed and unframed messages, which have no headers, a service starts anew with its own limits. [Detach] keeps
// the metadata for work that outlives the call, [WithReplyHeaders] has what came back.
//
// [Intercept] and [InterceptCalls] stand around the calls of servers and clients.
//
// # Streams
//
// A method may take or send any number of messages: [ServerStreaming],
// [ClientStreaming] and [BidiStreaming] make one, [OpenBidiStream] and its kin call
// it. Streams travel over TTHeader, as Kitex has them, on a connection beside that of the calls.
// Their limits are the options from [StreamQueue] to [MaxStreamsPerConn]; package
// rpc/stream explains their life and their errors.
//
// # Errors
//
// A handler's declared exception travels in the result struct. Everything
// else that goes wrong on the server travels as an [ApplicationException].
// What goes wrong on the way is an [*Error], which says at which stage.
//
// # Limits
//
// Frames, connections, calls in flight and times are bounded by options with
// defaults that are safe on an open port; no memory is reserved for a length
// that a peer merely claims. A call that is not served is told why, with the type of its [ApplicationException] and, where the
// dialect has headers, fbthrift's code in the header "ex". [Server.Stats] counts it in Refused:
//
//	limit                option                   default    the call gets           ex   in Refused
//	user's function      Overloaded               none       LoadShedding            22   overload
//	calls in flight      MaxInFlight              65,536     LoadShedding            1    in_flight
//	the same, by latency AdaptiveConcurrency      off        LoadShedding            1    concurrency
//	calls per second     MaxRate                  none       LoadShedding            1    rate
//	calls that wait      MaxQueue                 65,536     LoadShedding            22   queue_full
//	time in the queue    QueueTimeout             1 s        Timeout                 15   queue_time
//	a queue that stands  CoDel                    off        LoadShedding            22   delay
//	time in all          TaskExpiry, Expiry       5 s        Timeout                 2    expired
//	connections          MaxConnections           10,000     LoadShedding            1    connections
//	a message            MaxFrameSize             16 MiB     ProtocolError           28   message
//	when decompressed    MaxDecompressedSize      16 MiB     ProtocolError           28   message
//	its headers          MaxHeaderSize            64 KiB     ProtocolError           28   message
//	a reply              MaxFrameSize             16 MiB     InternalError           17
//	no such method                                           UnknownMethod           25   method
//	the server stops     Grace                    3 s        InternalError           5    stopping
//	TLS is required      TLS                      off        UnsupportedClientType   28   insecure
//
// What has nobody to tell ends the connection, or lets it wait, and is counted by itself:
//
//	limit                option                   default         then                      in Stats
//	message arrives      ReadTimeout              1 min           the connection ends       Late
//	client reads         WriteTimeout             1 min           the connection ends       SlowClients
//	nothing happens      IdleTimeout              off             the connection ends       Idle
//	connection's age     MaxConnectionAge         off             the connection ends       Aged
//	of one connection    MaxInFlightPerConn       2,000, 16 MiB   it is not read meanwhile  Paused
//	of all together      MaxMemory                1 GiB           it is not read meanwhile  Paused
//	an unknown dialect                                            the connection ends       UnknownDialect
//
// Over HTTP what holds no message, or too large a one, has a status and a problem document instead; over gRPC and
// tRPC codes of theirs stand for the types.
//
// The package must not know IDL, how HTTP is spoken or how a struct is encoded. What handlers
// and callers on bytes see is the binary protocol; structs of the compact one are rewritten on the way.
package rpc
