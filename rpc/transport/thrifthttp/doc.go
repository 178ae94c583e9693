// Package thrifthttp carries Thrift messages over HTTP: one message is the
// body of a POST, the reply is the body of the answer, over HTTP/1.1 and
// HTTP/2, in the clear (by prior knowledge) and inside TLS.
//
// A [Server] takes connections that somebody else has accepted and found to be HTTP, answers
// posts of Thrift messages through a function, and hands all other requests to
// an [net/http.Handler], such as a gateway. A [Client] posts messages. [Metadata]
// is what header fields say beside the message.
//
// The clients of Apache Thrift understand no status but 200, so whatever can be
// said in a Thrift message, exceptions among it, travels with 200. Other
// statuses, with a problem document (RFC 9457), are for requests that hold no message.
//
// The package must not know what a message says: neither its protocol, nor methods,
// nor how a call is made.
package thrifthttp
