package ttstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/rpc/transport/ttstream"
)

// errFails is an outcome.
var errFails = errors.New("it fails")

// options are those of a connection whose only outcome is that it fails.
func options(role stream.Role) ttstream.Options {
	return ttstream.Options{
		Role: role, MaxFrame: 1000, MaxStreams: 10, MaxHead: 2000, Stall: 20 * time.Millisecond,
		Stream:  stream.Options{MaxBytes: 4000},
		Outcome: func(error) ([]transport.Pair, []byte) { return nil, []byte{0} },
		ReadOutcome: func(e []byte, _ ttheader.StringPairs) error {
			if e != nil {
				return errFails
			}
			return nil
		},
		Accept: func(in *ttstream.Incoming) {
			if s := in.Start(context.Background(), stream.Options{MaxBytes: 4000}); s != nil {
				go echo(s)
			}
		},
	}
}

// echo sends back what it gets.
func echo(s *stream.Stream) {
	for {
		var got []byte
		err := s.Recv(s.Context(), func(b []byte) error {
			got = bytes.Clone(b)
			return nil
		})
		if err == io.EOF {
			s.Finish(nil)
			return
		}
		if err == nil {
			err = s.Send(s.Context(), func(dst []byte) ([]byte, error) { return append(dst, got...), nil })
		}
		if err != nil {
			s.Finish(err)
			return
		}
	}
}

// raw returns a frame of a stream.
func raw(id uint32, kind, method string, payload []byte, change ...func(*ttheader.Outgoing)) []byte {
	o := ttheader.Outgoing{Flags: ttheader.Streaming, SequenceID: id, Protocol: ttheader.StreamData,
		Ints: []ttheader.IntPair{{Key: ttheader.FrameType, Value: kind}, {Key: ttheader.ToMethod, Value: method}}}
	for _, f := range change {
		f(&o)
	}
	b, err := o.Append(nil)
	if err != nil {
		panic(err)
	}
	b = append(b, payload...)
	ttheader.Seal(b, 0)
	return b
}

// peer is a server, and the bare connection to it.
type peer struct {
	t      *testing.T
	conn   net.Conn
	served chan error
	in     *transport.Reader
}

func serve(t *testing.T, o ttstream.Options) *peer {
	t.Helper()
	near, far := net.Pipe()
	var blocks transport.Pool
	p := &peer{t, near, make(chan error, 1), transport.NewReader(near, &blocks)}
	conn := ttstream.New(far, transport.NewReader(far, &blocks), nil, o)
	go func() { p.served <- conn.Serve() }()
	t.Cleanup(func() { near.Close(); conn.Close(nil) })
	return p
}

func (p *peer) send(frames ...[]byte) {
	p.conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
	for _, f := range frames {
		p.conn.Write(f) // an error shows in what is received
	}
}

// next returns the kind, stream and payload of the next frame.
func (p *peer) next() (kind string, id uint32, payload []byte) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	var size [4]byte
	if _, err := io.ReadFull(p.conn, size[:]); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, int(size[1])<<16|int(size[2])<<8|int(size[3]))
	if _, err := io.ReadFull(p.conn, b); err != nil {
		p.t.Fatal(err)
	}
	var f ttheader.Frame
	if err := f.Parse(b); err != nil {
		p.t.Fatal(err)
	}
	k, _ := f.Ints.Get(ttheader.FrameType)
	return string(k), f.SequenceID, f.Payload
}

// answers checks that the server still serves.
func (p *peer) answers(id uint32) {
	p.t.Helper()
	p.send(raw(id, "2", "echo", nil), raw(id, "3", "echo", []byte("still there?")))
	for {
		if kind, from, payload := p.next(); from == id && kind == "3" {
			if string(payload) != "still there?" {
				p.t.Errorf("got %q", payload)
			}
			return
		}
	}
}

func TestWhatBreaksOneStreamLeavesTheOthers(t *testing.T) {
	large := func(o *ttheader.Outgoing) {
		o.Strings = []ttheader.StringPair{{Key: "k", Value: string(make([]byte, 3000))}}
	}
	for name, frames := range map[string][][]byte{
		"a message of a stream that is unknown":    {raw(99, "3", "echo", []byte("x"))},
		"a reset of a stream that is unknown":      {raw(99, "5", "echo", nil)},
		"a trailer of a stream that is unknown":    {raw(99, "4", "echo", nil)},
		"a frame about the connection":             {raw(0, "1", "", nil), raw(0, "3", "", nil)},
		"a frame about the stream":                 {raw(1, "1", "echo", nil)},
		"a second header":                          {raw(1, "2", "echo", nil)},
		"a message after the close":                {raw(1, "4", "echo", nil), raw(1, "3", "echo", nil)},
		"a message too large":                      {raw(1, "3", "echo", make([]byte, 2000))},
		"a header too large":                       {raw(2, "2", "echo", nil, large)},
		"headers of a message too large":           {raw(1, "3", "echo", nil, large)},
		"a reset that cannot be read":              {raw(1, "5", "echo", []byte{1, 2, 3})},
		"a reset without a reason":                 {raw(1, "5", "echo", nil)},
		"a trailer that cannot be read":            {raw(1, "4", "echo", []byte{1, 2, 3})},
		"a stream of Protobuf":                     {raw(2, "2", "echo", nil, func(o *ttheader.Outgoing) { o.Protocol = ttheader.StreamPB })},
		"a method whose name is as long as may be": {raw(2, "2", string(make([]byte, 1500)), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, options(stream.Server))
			p.send(raw(1, "2", "echo", nil))
			go p.send(frames...)
			p.send(raw(7, "2", "echo", nil))
			p.answers(8)
		})
	}
}

func TestWhatCannotBeFollowedEndsTheConnection(t *testing.T) {
	for name, b := range map[string][]byte{
		"a call":                    raw(2, "2", "echo", nil, func(o *ttheader.Outgoing) { o.Flags = 0 }),
		"a frame of no kind":        raw(2, "", "echo", nil),
		"a frame of another kind":   raw(2, "6", "echo", nil),
		"a frame of a longer kind":  raw(2, "33", "echo", nil),
		"another protocol":          raw(2, "2", "echo", nil, func(o *ttheader.Outgoing) { o.Protocol = ttheader.Binary }),
		"a frame beyond all limits": {0x7f, 0, 0, 0, 0x10, 0},
		"noise":                     []byte("GET / HTTP/1.1\r\n\r\n"),
		"a broken header":           {0, 0, 0, 12, 0x10, 0, 0, 2, 0, 0, 0, 1, 0xff, 0xff, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, options(stream.Server))
			go p.send(raw(1, "2", "echo", nil), b)
			select {
			case err := <-p.served:
				var fault *diag.Fault
				if !errors.As(err, &fault) {
					t.Errorf("ended with %v, want a fault", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the connection goes on")
			}
		})
	}
}

func TestAStreamEndsWithItsConnection(t *testing.T) {
	ended := make(chan error, 1)
	o := options(stream.Server)
	o.Accept = func(in *ttstream.Incoming) {
		s := in.Start(context.Background(), stream.Options{})
		go func() { ended <- s.Recv(context.Background(), nil) }()
	}
	p := serve(t, o)
	whole := raw(1, "3", "echo", []byte("never whole"))
	p.send(raw(1, "2", "echo", nil), whole[:len(whole)-3])
	p.conn.Close()
	var e *stream.Error
	if err := <-ended; !errors.As(err, &e) || e.Code != stream.Lost {
		t.Errorf("got %v", err)
	}
	<-p.served
}

func TestAFrameMayNotTakeForEver(t *testing.T) {
	o := options(stream.Server)
	o.ReadTimeout = 5 * time.Millisecond
	p := serve(t, o)
	p.send(raw(1, "2", "echo", nil)[:9])
	var timeout net.Error
	if err := <-p.served; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v", err)
	}
}

func TestAConnectionWithoutStreamsMayEnd(t *testing.T) {
	o := options(stream.Server)
	o.IdleTimeout = 5 * time.Millisecond
	p := serve(t, o)
	if err := <-p.served; !errors.Is(err, ttstream.ErrIdle) {
		t.Errorf("got %v", err)
	}
}

// It has not been without streams while one ran.
func TestTheTimeWithoutStreamsBeginsWithTheEndOfTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(stream.Server)
		o.IdleTimeout = time.Minute
		o.Accept = func(in *ttstream.Incoming) {
			s := in.Start(context.Background(), stream.Options{})
			time.AfterFunc(90*time.Second, func() { s.Finish(nil) })
		}
		p := serve(t, o)
		begun := time.Now()
		p.send(raw(1, "2", "m", nil))
		go io.Copy(io.Discard, p.conn)
		if err := <-p.served; !errors.Is(err, ttstream.ErrIdle) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begun); d != 150*time.Second {
			t.Errorf("the connection ended after %v", d)
		}
	})
}

// The first read comes when the time for it has passed, as on a machine that is too busy to read.
func TestAStreamThatHasComeIsServedThoughItsConnectionLooksIdle(t *testing.T) {
	near, far := net.Pipe()
	var blocks transport.Pool
	in := transport.NewReader(far, &blocks)
	o := options(stream.Server)
	o.IdleTimeout = time.Millisecond
	o.Look = func(want int) error {
		far.SetReadDeadline(time.Time{})
		return in.Fill(want)
	}
	late := false
	conn := ttstream.New(far, in, func(want int) error {
		if !late {
			late = true
			time.Sleep(2 * time.Millisecond)
			return os.ErrDeadlineExceeded
		}
		return in.Fill(want)
	}, o)
	p := &peer{t: t, conn: near, served: make(chan error, 1)}
	go func() { p.served <- conn.Serve() }()
	p.answers(1)
	near.Close()
	<-p.served
}

func TestRefusalsToAPeerThatDoesNotReadAreBounded(t *testing.T) {
	o := options(stream.Server)
	o.MaxUnsent = 10_000
	o.Accept = func(in *ttstream.Incoming) { in.Refuse(errFails) }
	p := serve(t, o)
	p.conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	id := uint32(0)
	for {
		id++
		if _, err := p.conn.Write(raw(id, "2", "echo", nil)); err != nil {
			break
		}
		if id > 100_000 {
			t.Fatal("the server goes on to answer who does not read")
		}
	}
}

// FuzzServe lets a server and a client meet any bytes behind an open stream.
func FuzzServe(f *testing.F) {
	f.Add([]byte("noise"), false)
	f.Add(raw(1, "3", "echo", []byte("x")), true)
	f.Add(append(raw(1, "4", "echo", nil), raw(1, "3", "echo", nil)...), false)
	f.Add(raw(1, "5", "echo", []byte{0x80, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0}), true)
	f.Add(raw(2, "2", "echo", nil, func(o *ttheader.Outgoing) { o.Strings = []ttheader.StringPair{{Key: "crrst", Value: "1"}} }), true)
	f.Fuzz(func(t *testing.T, b []byte, client bool) {
		near, far := net.Pipe()
		var blocks transport.Pool
		role := stream.Server
		if client {
			role = stream.Client
		}
		o := options(role)
		o.ReadTimeout = 50 * time.Millisecond
		conn := ttstream.New(far, transport.NewReader(far, &blocks), nil, o)
		served := make(chan struct{})
		go func() {
			defer close(served)
			conn.Serve()
		}()
		go io.Copy(io.Discard, near)
		var s *stream.Stream
		if client {
			s, _ = conn.Open(context.Background(), "echo", nil, nil, nil)
			go func() {
				for s.Recv(context.Background(), func([]byte) error { return nil }) == nil {
				}
			}()
		} else {
			near.Write(raw(1, "2", "echo", nil))
		}
		near.SetWriteDeadline(time.Now().Add(30 * time.Second))
		near.Write(b)
		near.Close()
		select {
		case <-served:
		case <-time.After(30 * time.Second):
			t.Fatal("the connection does not end")
		}
		if n := conn.Streams(); n != 0 {
			t.Fatalf("%d streams are left", n)
		}
	})
}
