package load_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds servers that answer wrongly: each fault must be noticed and
// counted as what it is.

// framedServer runs a server of framed binary: answer gets the sequence id of
// each request with its number on the connection, and writes what it likes.
// The connection is closed when it returns false.
func framedServer(t testing.TB, answer func(w io.Writer, seq int32, n int) bool) string {
	l := listener(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for n := 0; ; n++ {
					message, err := readFrame(in)
					if err != nil {
						return
					}
					m, _ := thriftwire.ConsumeMessage(message)
					if !answer(c, m.SequenceID, n) {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

// message returns a framed message.
func message(kind thriftwire.MessageType, seq int32, body []byte) []byte {
	m := append(thriftwire.AppendMessage(nil, kind, "noop", seq), body...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(m))), m...)
}

func good(seq int32) []byte { return message(thriftwire.Reply, seq, []byte{0}) }

// answers makes a framedServer of a function that returns what to write.
func answers(f func(seq int32, n int) []byte) func(io.Writer, int32, int) bool {
	return func(w io.Writer, seq int32, n int) bool {
		_, err := w.Write(f(seq, n))
		return err == nil
	}
}

func TestEveryWrongAnswerIsCounted(t *testing.T) {
	var held atomic.Int32 // of the server that answers in another order
	for name, c := range map[string]struct {
		want   load.ErrorKind
		answer func(w io.Writer, seq int32, n int) bool
		expect []byte
		same   bool
	}{
		"unknown id":         {want: load.Sequence, answer: answers(func(seq int32, n int) []byte { return good(7) })},
		"id of another slot": {want: load.Sequence, answer: answers(func(seq int32, n int) []byte { return good(seq + 100) })},
		"answered twice": {want: load.Repeated, answer: answers(func(seq int32, n int) []byte {
			return append(good(seq), good(seq)...)
		})},
		"another order": {want: load.Order, answer: func(w io.Writer, seq int32, n int) bool {
			if n%2 == 0 {
				held.Store(seq)
				return true
			}
			_, err := w.Write(append(good(seq), good(held.Load())...))
			return err == nil
		}},
		"no length":   {want: load.Garbage, answer: answers(func(int32, int) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") })},
		"no envelope": {want: load.Garbage, answer: answers(func(int32, int) []byte { return []byte("\x00\x00\x00\x05hello") })},
		"a call":      {want: load.Type, answer: answers(func(seq int32, _ int) []byte { return message(thriftwire.Call, seq, []byte{0}) })},
		"close": {want: load.Closed, answer: func(w io.Writer, seq int32, n int) bool {
			return n < 5 && answers(func(seq int32, n int) []byte { return good(seq) })(w, seq, n)
		}},
		"close halfway": {want: load.Closed, answer: func(w io.Writer, seq int32, n int) bool { w.Write(good(seq)[:9]); return false }},
		"reset": {want: load.Reset, answer: func(w io.Writer, seq int32, n int) bool {
			w.(*net.TCPConn).SetLinger(0)
			return false
		}},
		"silence": {want: load.Timeout, answer: func(io.Writer, int32, int) bool { return true }},
		"one is left out": {want: load.Timeout, answer: answers(func(seq int32, n int) []byte {
			if n == 3 {
				return nil
			}
			return good(seq)
		})},
		"another payload": {want: load.Payload, expect: text(0, "right"), answer: answers(func(seq int32, n int) []byte {
			return message(thriftwire.Reply, seq, text(0, "wrong"))
		})},
		"not the same": {want: load.Payload, same: true, answer: answers(func(seq int32, n int) []byte {
			return message(thriftwire.Reply, seq, text(0, fmt.Sprint(n)))
		})},
		"more payload": {want: load.Payload, expect: []byte{0}, answer: answers(func(seq int32, n int) []byte {
			return message(thriftwire.Reply, seq, []byte{0, 0})
		})},
		"exception": {want: load.Refusal, answer: answers(func(seq int32, n int) []byte {
			b := thriftwire.AppendI32(thriftwire.AppendField(nil, thriftwire.I32, 2), 11)
			return message(thriftwire.Exception, seq, thriftwire.AppendStop(b))
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, load.Form{}, "noop", []byte{0})
			r.Expect, r.Same = c.expect, c.same
			timeout := 2 * time.Second // a busy machine is not what is counted
			if c.want == load.Timeout {
				timeout = 100 * time.Millisecond
			}
			res := driveUntil(t, load.Config{
				Address: framedServer(t, c.answer), Requests: []load.Request{r},
				Depth: 4, Duration: 300 * time.Millisecond, Timeout: timeout,
			}, failed(c.want))
			if res.Errors[c.want] == 0 || res.FirstError == "" {
				t.Errorf("%v, first %q", res.Errors, res.FirstError)
			}
			for kind, n := range res.Errors {
				// What follows from the fault is allowed: requests that the same
				// connection loses, or that wait for the reply that went to another.
				if kind != c.want && kind != load.Lost && kind != load.Timeout && kind != load.Reset && kind != load.Order {
					t.Errorf("%d errors of kind %v", n, kind)
				}
			}
		})
	}
}

func TestReorderingIsNoErrorWhereItIsAllowed(t *testing.T) {
	l := listener(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for { // answers pairs the other way round
			var pair [2][]byte
			for i := range pair {
				frame, err := readFrame(c)
				if err != nil {
					return
				}
				var f ttheader.Frame
				f.Parse(frame)
				m, _ := thriftwire.ConsumeMessage(f.Payload)
				b, _ := (&ttheader.Outgoing{SequenceID: f.SequenceID}).Append(nil)
				b = append(thriftwire.AppendMessage(b, thriftwire.Reply, "noop", m.SequenceID), 0)
				ttheader.Seal(b, 0)
				pair[i] = b
			}
			c.Write(append(pair[1], pair[0]...))
		}
	}()
	f := load.Form{Dialect: load.TTHeader}
	res := drive(t, load.Config{Address: l.Addr().String(), Form: f, Requests: []load.Request{request(t, f, "noop", []byte{0})}, Depth: 8, Duration: time.Second})
	if res.Failed() > 0 || res.Latency.Count == 0 {
		t.Errorf("%v", res.Errors)
	}
}

func TestExceptionsAreCountedByTypeAndCode(t *testing.T) {
	f := load.Form{Dialect: load.TTHeader}
	l := listener(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for n := 0; ; n++ {
			frame, err := readFrame(c)
			if err != nil {
				return
			}
			var in ttheader.Frame
			in.Parse(frame)
			m, _ := thriftwire.ConsumeMessage(in.Payload)
			o := ttheader.Outgoing{SequenceID: in.SequenceID, Strings: []ttheader.StringPair{{Key: "ex", Value: fmt.Sprint(1 + n%2)}}}
			b, _ := o.Append(nil)
			b = thriftwire.AppendMessage(b, thriftwire.Exception, "noop", m.SequenceID)
			b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 1), "enough")
			b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 2), 11)
			b = thriftwire.AppendStop(b)
			ttheader.Seal(b, 0)
			c.Write(b)
		}
	}()
	res := drive(t, load.Config{Address: l.Addr().String(), Form: f, Requests: []load.Request{request(t, f, "noop", []byte{0})}, Depth: 2, Duration: time.Second})
	if len(res.Exceptions) != 2 || res.Refused.Count == 0 || res.Latency.Count != 0 {
		t.Fatalf("%+v", res)
	}
	var sum int64
	for _, e := range res.Exceptions {
		sum += e.Count
		if e.Type != 11 || e.Ex != "1" && e.Ex != "2" || e.Count < 1 {
			t.Errorf("%+v", e)
		}
	}
	if sum != res.Errors[load.Refusal] || sum != res.Failed() {
		t.Errorf("%d exceptions, %v", sum, res.Errors)
	}
}

func TestConnectionsAreMadeAgain(t *testing.T) {
	address := framedServer(t, func(w io.Writer, seq int32, n int) bool {
		w.Write(good(seq))
		return n < 9
	})
	res := driveUntil(t, load.Config{
		Address: address, Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})},
		Connections: 2, Depth: 1, Duration: 300 * time.Millisecond,
	}, func(res *load.Result) bool { return res.Reconnects >= 4 })
	if res.Reconnects < 4 || res.Replies < 10*res.Reconnects/2 {
		t.Errorf("%d connections again, %d replies, %v", res.Reconnects, res.Replies, res.Errors)
	}
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	l := listener(t)
	address := l.Addr().String()
	l.Close()
	_, err := load.Run(t.Context(), load.Config{Network: "tcp", Address: address, Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})}, Connections: 100})
	if err == nil {
		t.Fatal("no error")
	}
}

func TestAServerThatReadsNothingEndsTheRun(t *testing.T) {
	l := listener(t) // nobody accepts
	big := request(t, load.Form{}, "echo", text(1, string(make([]byte, 1<<20))))
	for _, rate := range []float64{0, 1000} {
		c := load.Config{Address: l.Addr().String(), Requests: []load.Request{big}, Depth: 100, Rate: rate, Duration: 200 * time.Millisecond, Timeout: 100 * time.Millisecond}
		res := driveUntil(t, c, failed(load.Timeout))
		if res.Errors[load.Timeout] == 0 || res.Replies != 0 {
			t.Errorf("rate %v: %v", rate, res.Errors)
		}
	}
}

func TestLargeRequestsDoNotWaitForEachOther(t *testing.T) {
	address := serve(t)
	payload := string(make([]byte, 1<<20))
	for _, f := range []load.Form{{}, {Dialect: load.Unframed}, {Dialect: load.Header}, {Dialect: load.TTHeader}} {
		echo := request(t, f, "echo", text(1, payload))
		echo.Expect = text(0, payload)
		res := driveUntil(t, load.Config{Address: address, Form: f, Requests: []load.Request{echo}, Connections: 2, Depth: 30, Duration: 200 * time.Millisecond}, answered(1))
		if res.Failed() > 0 || res.Latency.Count == 0 {
			t.Errorf("%v: %v, %d replies", f.Dialect, res.Errors, res.Latency.Count)
		}
	}
}

// TestAnyConnectionWill drives a connection that holds nothing back: a write ends
// when the other side has read.
func TestAnyConnectionWill(t *testing.T) {
	r := request(t, load.Form{}, "noop", []byte{0})
	res := driveUntil(t, load.Config{Requests: []load.Request{r}, Depth: 10, Duration: 50 * time.Millisecond, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			for {
				b, err := readFrame(server)
				if err != nil {
					return
				}
				m, _ := thriftwire.ConsumeMessage(b)
				server.Write(good(m.SequenceID))
			}
		}()
		return client, nil
	}}, answered(10))
	if res.Failed() > 0 || res.Latency.Count < 10 {
		t.Errorf("%v, %d replies", res.Errors, res.Replies)
	}
}

func TestARefusedHandshakeIsAnError(t *testing.T) {
	address := serve(t)
	_, err := load.Run(t.Context(), load.Config{
		Network: "tcp", Address: address, Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})}, Timeout: 10 * time.Second,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&tls.Dialer{Config: &tls.Config{ServerName: "x"}}).DialContext(ctx, network, address)
		},
	})
	if err == nil {
		t.Error("no error")
	}
}
