// Package flatgeneric makes and serves calls of FlatBuffers services by a
// schema, without generated code. It is to package flatrpc what package generic
// is to the Thrift half of rpc.
//
// # Kinds of calls
//
//	value  arguments as package dynamic/flatbuffers makes messages of them,
//	       a map[string]any mostly; results as values that are read in place
//	JSON   objects both ways, as package flatjson converts them
//
// Clients may send either of them, FlatBuffers, or Protobuf; Bodies teaches a generated
// service the same.
//
// A Method calls one method, of any of the four modes. Serve and ServeJSON make a
// service of functions on values and on JSON.
//
// # Errors
//
// Arguments that do not fit the schema are a *diag.Fault with offset and path, and nothing is sent.
// Replies are verified; one that breaks the rules is an *rpc.Error of
// rpc.StageDecode. Other errors are those of rpc.MessageCaller. A server answers
// what does not fit with trpc.ServerDecode, as package flatrpc does.
//
// # Concurrency and aliasing
//
// A Method is immutable and safe for concurrent use. What calls return aliases
// nothing of theirs; what a handler gets is valid until it returns.
//
// The package joins flatrpc, dynamic/flatbuffers, flatjson and flatproto. It knows neither IDL
// text nor the network.
package flatgeneric
