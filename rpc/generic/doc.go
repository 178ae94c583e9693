// Package generic makes and serves Thrift calls by a schema, without generated
// code.
//
// # Kinds of calls
//
//	map      arguments by name in a map[string]any, results as Go values
//	JSON     a JSON object of the arguments, the JSON of the result
//	HTTP     the parts of an HTTP request as annotations say, an HTTP reply
//	encoded  the struct of the arguments in the binary protocol, results as
//	         values that are read in place
//	binary   the same without a schema
//
// A [Client] makes calls of the kinds with a schema, [CallBinary] and [SendBinary] those of
// the last. [ServeMaps], [ServeJSON] and [Serve] make a service of one function on maps, JSON
// and encoded values; [Proxy] and [Relay] pass calls on, with a schema and without.
//
// Methods may have any number of arguments and exceptions. A method that streams
// is refused. [Method] is one method by itself.
//
// # A schema that changes
//
// [Client.Replace] gives a client another schema, [rpc.Server.Replace] a server
// a service made of it. A call ends with the schema that it began with; no call waits
// or fails because of a replacement, and nothing keeps the old schema when its last call
// has ended. Package idl reads IDL anew when files change and hands the schema on.
//
// # Errors
//
// Arguments that do not fit are an [*ArgumentError] and nothing is sent; a reply that does
// not fit is a [*ReplyError]; both hold a *diag.Fault with code, offset and path.
// A declared exception is an [*Exception] with its value, what the server says
// otherwise an [*rpc.ApplicationException]. Other errors are those of [rpc.Caller].
//
// The package joins rpc, dynamic and transcode. It must not know IDL text or Go
// struct tags.
package generic
