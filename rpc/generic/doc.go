// Package generic makes and serves Thrift calls by a schema, without generated
// code: arguments and results are Go maps, or values that stay encoded.
//
// A [Client] calls any method of a service. Its schema can be replaced while it
// is in use; a call ends with the schema that it began with. [Serve] makes a
// service of one function, which sees the arguments encoded: a proxy reads what it
// needs and passes the rest on.
//
// The package joins rpc and dynamic. It must not know IDL text, JSON, HTTP or
// Go struct tags.
package generic
