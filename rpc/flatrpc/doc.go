// Package flatrpc joins functions on FlatBuffers to the methods and calls of
// package rpc. It is what generated services and clients call.
//
// A service is an [rpc.Service] whose methods are made here, with the full name that its
// schema gives it, such as "shop.Orders"; a method is then called as "/shop.Orders/Place" over
// tRPC and gRPC. What arrives is verified before a handler sees it: a message that breaks the rules is
// answered with trpc.ServerDecode, and the handler is not run.
//
// A request is a view of what the network has read, and a reply is sent from the Builder's
// memory where it is large; nothing is copied for either. So a request is valid until its handler
// returns, and a Builder that a handler returns is the server's: it goes back to its pool when it has been
// sent.
//
// Methods may stream in either direction or in both; messages of streams own
// their bytes, unless they are read in passing, by View. Both sides wait while the other one has no room, and a stream ends with the
// outcome of its handler, or when either side gives it up.
//
// The package knows neither schemas nor the network.
package flatrpc
