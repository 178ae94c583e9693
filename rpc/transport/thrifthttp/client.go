package thrifthttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the Client.

// ClientOptions say what a Client does. All may be zero.
type ClientOptions struct {
	// Dial makes connections, without TLS; network and address are "tcp" and the URL's.
	// Default: net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is for URLs with the scheme https; default: the system's authorities.
	TLS *tls.Config
	// HTTP2 makes the client speak nothing but HTTP/2: by ALPN inside TLS, else by prior
	// knowledge. Without it the client speaks HTTP/1.1, with a connection for each call at a time.
	HTTP2 bool
	// KeepSilent keeps the connection of HTTP/2 on which the server has been silent for all of a request's time. Without
	// it later requests go over a new one, because the server may be lost.
	KeepSilent bool
	// Header is added to every request.
	Header http.Header

	MaxReply      int           // bytes of a reply; default 16 MiB
	MaxConns      int           // at a time with HTTP/1.1; further calls wait; default 256
	IdleTime      time.Duration // after which a connection without calls is closed; default a minute and a half
	HandshakeTime time.Duration // for a TLS handshake; default ten seconds
}

// Client posts messages to one URL. It is safe for concurrent use.
type Client struct {
	url       *url.URL
	header    http.Header
	maxReply  int
	transport *Transport
	blocks    transport.Pool
}

// NewClient returns a client for a URL with the scheme http or https. It makes connections when
// messages are posted. Proxies that the environment names are not used.
func NewClient(address string, o ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("thrifthttp: %q is no URL of http or https", address)
	}
	c := &Client{url: u, header: o.Header.Clone(), maxReply: orDefault(o.MaxReply, 16<<20), transport: NewTransport(o)}
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set("Content-Type", ContentType)
	c.header.Set("Accept", ContentType)
	if c.header.Get("User-Agent") == "" {
		c.header.Set("User-Agent", "thrum")
	}
	return c, nil
}

// Answer is the reply to a posted message.
type Answer struct {
	// Message is a view of Block, which is to be released when nobody reads the message any more. Both
	// are nil after a oneway call.
	Message []byte
	Block   *transport.Block
	Header  http.Header
}

// Post posts a message and waits for the answer. The message must not change
// afterwards, even after an error, because the network may still read it. header is
// added to the request, and may be nil. sent says that the server may have received something.
//
// A status other than 200 is a [*StatusError].
func (c *Client) Post(ctx context.Context, message []byte, header http.Header) (answer Answer, sent bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r := (&http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header.Clone(), ContentLength: int64(len(message)),
		Body:    io.NopCloser(bytes.NewReader(message)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(message)), nil },
	}).WithContext(ctx)
	for name, values := range header {
		r.Header[name] = values
	}
	reply, err := c.transport.RoundTrip(r)
	if err != nil {
		return Answer{}, connected.Load(), err
	}
	answer, err = c.read(reply)
	return answer, true, err
}

// read reads the body of a reply.
func (c *Client) read(reply *http.Response) (Answer, error) {
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return Answer{}, statusError(reply)
	}
	if coding := reply.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return Answer{}, fmt.Errorf("thrifthttp: the reply is coded as %q, which was not asked for", coding)
	}
	if reply.ContentLength > int64(c.maxReply) {
		return Answer{}, fmt.Errorf("thrifthttp: the reply has %d bytes, and %d are the limit", reply.ContentLength, c.maxReply)
	}
	message, block, err := readBody(reply.Body, reply.ContentLength, c.maxReply, &c.blocks, func(int) error { return nil })
	switch {
	case errors.Is(err, errEmpty):
		return Answer{Header: reply.Header}, nil
	case errors.Is(err, errTooLarge):
		return Answer{}, fmt.Errorf("thrifthttp: the reply exceeds %d bytes", c.maxReply)
	case err != nil:
		return Answer{}, err
	}
	return Answer{message, block, reply.Header}, nil
}

// statusError reads what a server says with a status other than 200.
func statusError(reply *http.Response) error {
	const clip = 512
	text, _ := io.ReadAll(io.LimitReader(reply.Body, clip)) // what has come is better than nothing
	return &StatusError{reply.StatusCode, strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))}
}

// Close closes the connections that no call uses; the others are closed when their calls end.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
