package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

// This file joins HTTP/2, which is net/http's, to the rest, which works on streams of bytes, for messages of Thrift and for
// gRPC (grpc.go): a tunnel is a connection that posts each request that is written to it, and from which the replies are read. What
// goes through a tunnel is a frame for each message: a length, the sequence id, and of replies the status, 0 for success.

const (
	// tunnelHead is what stands before a message, behind the frame's length: its sequence id, and of a reply its status.
	tunnelHead, tunnelStatus = 4, 2
	// maxPosts is how many requests of a connection are posted at a time; servers should allow no fewer, and most allow not many more.
	maxPosts = 100
)

// tunnel is one connection that speaks HTTP/2.
type tunnel struct {
	net.Conn          // the near end of a pipe, which the run uses
	far      net.Conn // its other end
	real     net.Conn
	client   poster
	ctx      context.Context // ends after the tunnel
	cancel   context.CancelFunc
	timeout  time.Duration
	posts    chan struct{} // holds a token for each request that is posted

	mu  sync.Mutex // of writing to far
	err error      // why the tunnel has ended; nil for nothing in particular
}

// poster makes the requests of a tunnel.
type poster interface {
	// post makes one, and appends to b what the tunnel says of the reply behind its sequence id: a status, and more if that is 0.
	// An error is the connection's.
	post(ctx context.Context, b, request []byte) ([]byte, error)
	close()
}

// poster returns what makes the requests of the form.
func (t *tunnel) poster(f *Form, limit int) (poster, error) {
	if f.Dialect == GRPC {
		return newGRPCPoster(f, thrifthttp.NewTransport(t.options(f, limit)), limit), nil
	}
	c, err := thrifthttp.NewClient(f.url(), t.options(f, limit))
	return thriftPoster{c}, err
}

// thriftPoster posts messages of Thrift.
type thriftPoster struct{ client *thrifthttp.Client }

func (p thriftPoster) close() { p.client.Close() }

func (p thriftPoster) post(ctx context.Context, b, message []byte) ([]byte, error) {
	answer, _, err := p.client.Post(ctx, message, nil)
	var refused *thrifthttp.StatusError
	switch {
	case errors.As(err, &refused):
		return binary.BigEndian.AppendUint16(b, uint16(refused.Status)), nil
	case err != nil:
		return nil, err
	case answer.Block != nil: // nil for an answer without a message
		defer answer.Block.Release()
	}
	return append(binary.BigEndian.AppendUint16(b, 0), answer.Message...), nil
}

// dialHTTP2 returns a way to dial that makes tunnels of the connections that dial makes.
func dialHTTP2(c *Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial, form, limit, timeout := c.Dial, c.Form, c.MaxReply, c.Timeout
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		real, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t := &tunnel{real: real, timeout: timeout, posts: make(chan struct{}, maxPosts)}
		if t.client, err = t.poster(&form, limit); err != nil {
			real.Close()
			return nil, err
		}
		t.ctx, t.cancel = context.WithCancel(context.Background())
		t.Conn, t.far = net.Pipe()
		go t.run()
		return t, nil
	}
}

// url returns the URL that is posted to. TLS is the connection's, and no matter of HTTP.
func (f *Form) url() string { return "http://" + f.host() + f.path() }

// errOneConnection is why a client's second connection is not made.
var errOneConnection = errors.New("the connection has ended")

// options are those of the client, which has one connection.
func (t *tunnel) options(f *Form, limit int) thrifthttp.ClientOptions {
	fields := map[string][]string{}
	for _, h := range f.Headers {
		fields[h.Key] = append(fields[h.Key], h.Value)
	}
	var mu sync.Mutex
	used := false
	return thrifthttp.ClientOptions{HTTP2: true, KeepSilent: true, MaxConns: 1, MaxReply: limit, Header: fields, // the first requests wait for the connection
		Dial: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if used {
				return nil, errOneConnection
			}
			used = true
			return t.real, nil
		}}
}

// run posts what is written to the tunnel until that ends.
func (t *tunnel) run() {
	in := bufio.NewReader(t.far)
	for {
		var head [framed.HeaderSize + tunnelHead]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			break
		}
		message := make([]byte, binary.BigEndian.Uint32(head[:])-tunnelHead)
		if _, err := io.ReadFull(in, message); err != nil {
			break
		}
		t.posts <- struct{}{}
		go t.post(binary.BigEndian.Uint32(head[framed.HeaderSize:]), message)
	}
	t.end(nil)
	for range maxPosts { // until none is posted
		t.posts <- struct{}{}
	}
	t.cancel()
	t.client.close()
}

// end ends the tunnel, because of err unless it is nil. What is posted fails with the connection: net/http reads what it
// writes elsewhere if a context ends while it makes a request again.
func (t *tunnel) end(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = err
	}
	t.mu.Unlock()
	t.far.Close()
	t.real.Close()
}

// post posts one message and writes what comes back.
func (t *tunnel) post(seq uint32, message []byte) {
	defer func() { <-t.posts }()
	ctx, cancel := context.WithTimeout(t.ctx, 2*t.timeout) // longer than anybody waits
	defer cancel()
	b := make([]byte, framed.HeaderSize, 256)
	b, err := t.client.post(ctx, binary.BigEndian.AppendUint32(b, seq), message)
	if err != nil {
		if ctx.Err() == nil || t.ctx.Err() != nil { // else the run has given it up
			t.end(err)
		}
		return
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-framed.HeaderSize))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.far.Write(b)
}

// Read reads replies. At its end it returns why the tunnel has ended.
func (t *tunnel) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if err == io.EOF {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.err != nil {
			err = fmt.Errorf("HTTP/2: %w", t.err)
		}
	}
	return n, err
}

// nextHTTP2 is next for what comes out of a tunnel.
func (r *replies) nextHTTP2(b []byte) (rep reply, n int, err error) {
	frame, n, err := r.scan.Next(b)
	if n == 0 || err != nil {
		return rep, 0, err
	}
	if len(frame) < tunnelHead+tunnelStatus {
		return rep, 0, errors.New("a frame of the tunnel has no head")
	}
	seq, message := binary.BigEndian.Uint32(frame), frame[tunnelHead+tunnelStatus:]
	if status := binary.BigEndian.Uint16(frame[tunnelHead:]); status != 0 {
		return reply{seq: seq, status: int(status)}, n, nil
	}
	err = rep.envelope(message)
	rep.mismatch = rep.seq != seq
	rep.seq = seq
	return rep, n, err
}
