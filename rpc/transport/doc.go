// Package transport holds what every way of carrying Thrift messages over a
// byte stream shares: finding out from the first bytes which dialect a peer
// speaks, and reading a stream in blocks of which messages are views.
//
// The dialects themselves are the packages below it. None of them knows about
// calls, handlers or connections: they turn bytes into messages and back.
package transport
