package rpc

import (
	"crypto/tls"
	"net/http"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the options of TLS and HTTP.

// TLS makes both sides speak TLS, in every dialect. The configuration is not
// changed, and may be one of package certs, which takes new certificates while it is in use.
//
// A server takes TLS connections on the same port as before, and clients that
// speak in the clear no longer, unless [TLSPermitted] is given: their first call is
// answered with UnsupportedClientType. ALPN has the names "thrift", "h2" and "http/1.1" if the configuration has none.
//
// A client whose configuration has no ServerName expects the host of its
// address. The handshake is part of dialing and of its time limit.
func TLS(config *tls.Config) Option {
	return sharedOption(func(o *shared) { o.tls = config })
}

// TLSPermitted makes a server with [TLS] take connections in the clear, too.
func TLSPermitted() ServerOption {
	return serverOption(func(o *serverOptions) { o.tlsPermitted = true })
}

// GRPC makes a client of [DialMessages] speak gRPC, over HTTP/2: inside TLS with [TLS], else by
// prior knowledge. Connections are made when calls need them, so that DialMessages itself finds out nothing.
// A call has no attachment; a oneway call waits for its answer.
func GRPC() ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect = transport.GRPC })
}

// HTTPFallback serves the HTTP requests on the server's port that are no
// posts of Thrift messages, as a gateway does. Without it they are answered
// with a problem document.
func HTTPFallback(h http.Handler) ServerOption {
	return serverOption(func(o *serverOptions) { o.fallback = h })
}

// HTTP makes a client post its messages to a URL over HTTP/1.1, such as
// http://shop.test/thrift. Connections are made to the address of [Dial] all
// the same; the URL gives the path and the header Host. With the scheme https they speak TLS, by the
// configuration of [TLS] if there is one.
//
// A connection carries one call at a time, and is made when a call needs it,
// so that Dial itself finds out nothing.
func HTTP(url string) ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect, o.url, o.http2 = transport.HTTP, url, false })
}

// HTTP2 is HTTP with HTTP/2, where a connection carries many calls at a time. New calls leave it when
// the server has been silent for all of one's time.
// Without TLS the server must know HTTP/2 by prior knowledge, as ours does.
func HTTP2(url string) ClientOption {
	return clientOption(func(o *clientOptions) { o.form.dialect, o.url, o.http2 = transport.HTTP, url, true })
}
