package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds a client's connections that are TLS, and its calls over HTTP.

// dialTLS makes a connection, and its handshake if it is one of TLS.
func (c *clientCore) dialTLS(ctx context.Context) (net.Conn, error) {
	nc, err := c.opt.dial(ctx, c.network, c.address)
	if err != nil || c.opt.tls == nil {
		return nc, err
	}
	config := c.opt.tls
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(c.address)
		if err != nil && !config.InsecureSkipVerify { // as with a Unix socket
			nc.Close()
			return nil, errors.New("TLS needs a ServerName: the address has no host")
		}
		config = config.Clone()
		config.ServerName = host
	}
	under := &watched{Conn: nc}
	secured := tls.Client(under, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, handshakeError(err)
	}
	return &clientTLS{secured, under}, nil
}

// handshakeError says what has failed, and when it is that the server does not speak TLS.
func handshakeError(err error) error {
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return fmt.Errorf("TLS handshake: the server does not speak TLS: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// newHTTP makes the client one of HTTP.
func (c *Client) newHTTP() (err error) {
	if c.opt.tls != nil && !strings.HasPrefix(c.opt.url, "https:") {
		return fmt.Errorf("the client has TLS, and %q is not https", c.opt.url)
	}
	c.http, err = thrifthttp.NewClient(c.opt.url, thrifthttp.ClientOptions{
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if c.opt.dialTimeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.opt.dialTimeout)
				defer cancel()
			}
			nc, err := c.opt.dial(ctx, c.network, c.address)
			if err != nil || !c.opt.http2 {
				return nc, err
			}
			return c.gather(nc), nil
		},
		TLS: c.opt.tls, HTTP2: c.opt.http2, MaxReply: c.opt.maxFrame, HandshakeTime: c.opt.dialTimeout,
	})
	c.posting, c.endPosting = context.WithCancel(context.Background())
	return err
}

// post makes a call over HTTP.
func (c *Client) post(ctx context.Context, p *pendingCall) error {
	method := p.method
	if c.posts.Add(1) > int64(c.opt.maxPending) {
		c.posts.Add(-1)
		return &Error{Stage: StageQueue, Method: method, Err: ErrTooManyCalls}
	}
	defer c.posts.Add(-1)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.posting, cancel)()

	// The buffer is not used again: the network may read it after Post has returned.
	answer, sent, err := c.http.Post(inner, p.request.b, fieldsOf(p.thrift.heads))
	switch {
	case err == nil:
	case c.posting.Err() != nil:
		return &Error{Stage: StageRead, Method: method, Sent: sent, Err: ErrClientClosed}
	case ctx.Err() != nil:
		return &Error{Stage: StageWait, Method: method, Sent: sent, Err: ctx.Err()}
	case !sent:
		return &Error{Stage: StageDial, Method: method, Err: err}
	default:
		return &Error{Stage: StageRead, Method: method, Sent: true, Err: err}
	}
	if p.oneway {
		if answer.Block != nil {
			answer.Block.Release()
		}
		return nil
	}
	if answer.Block == nil {
		return &Error{Stage: StageRead, Method: method, Sent: true, Err: errors.New("the server has sent no reply")}
	}
	t := &p.thrift
	p.block, t.form.dialect, t.code = answer.Block, c.opt.form.dialect, answer.Header.Get(keyExceptionCode)
	if t.wanted != nil {
		t.wanted.set(headsOfReply(answer.Header))
	}
	if err := p.openReply(answer.Message); err != nil {
		p.block.Release()
		return &Error{Stage: StageRead, Method: method, Sent: true, Err: err}
	}
	return p.result()
}

// openReply reads the envelope of the only reply that a call can have.
func (p *pendingCall) openReply(message []byte) error {
	m, n := p.thrift.form.envelope(message)
	switch {
	case n < 0:
		return &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken reply envelope", Cause: thriftwire.Error(n)}
	case m.Type != thriftwire.Reply && m.Type != thriftwire.Exception:
		return exceptionf(InvalidMessageType, "the server sent a %s", m.Type)
	case uint32(m.SequenceID) != p.id && m.Type != thriftwire.Exception:
		return exceptionf(BadSequenceID, "reply to %q has sequence id %d, the call has %d", clip(m.Name), m.SequenceID, int32(p.id))
	case !p.answeredBy(m):
		return exceptionf(WrongMethodName, "reply to %q where one to %q was expected", clip(m.Name), p.thrift.name)
	}
	p.thrift.replyType, p.reply = m.Type, message[n:]
	return nil
}
