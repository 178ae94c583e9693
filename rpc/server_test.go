package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests what a server answers.

func bothFramings(t *testing.T, test func(t *testing.T, framed bool)) {
	t.Run("framed", func(t *testing.T) { test(t, true) })
	t.Run("unframed", func(t *testing.T) { test(t, false) })
}

func TestFramedAndUnframedClientsShareAPort(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	a, b := connect(t, address, true), connect(t, address, false)
	for i := range int32(3) {
		a.send(a.call("echo", i, "framed"))
		b.send(b.call("echo", -i, "unframed"))
		a.want(i, "framed")
		b.want(-i, "unframed")
	}
}

func TestWhatFailsIsAnsweredWithTheRightException(t *testing.T) {
	methods := []rpc.Method{
		echo,
		raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") }),
		raw("quota", func(_ context.Context, _, dst []byte) ([]byte, error) {
			return append(dst, "half a result"...), fmt.Errorf("wrapped: %w", &rpc.ApplicationException{Type: 16, Message: "quota exceeded"})
		}),
		raw("panic", func(context.Context, []byte, []byte) ([]byte, error) { panic("the password is 1234") }),
		raw("goexit", func(context.Context, []byte, []byte) ([]byte, error) { runtime.Goexit(); return nil, nil }),
		raw("drop", func(context.Context, []byte, []byte) ([]byte, error) { return nil, nil }),
		raw("huge", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, make([]byte, 5000)...), nil }),
		rpc.Unary("stock", stock),
	}
	bothFramings(t, func(t *testing.T, framed bool) {
		var l logs
		_, address := listen(t, methods, rpc.MaxFrameSize(4096), l.option())
		p := connect(t, address, framed)
		for i, c := range []struct {
			name string
			mt   thriftwire.MessageType
			body string
			code int32
			text string
		}{
			{"nothing", thriftwire.Call, "\x00", rpc.UnknownMethod, `no method "nothing" here`},
			{"T:nothing", thriftwire.Call, "\x00", rpc.UnknownMethod, `no method "T:nothing" here`},
			{"echo", thriftwire.Reply, "\x00", rpc.InvalidMessageType, "a server takes calls, not a reply"},
			{"echo", thriftwire.Exception, "\x00", rpc.InvalidMessageType, "a server takes calls, not a exception"},
			{"echo", 9, "\x00", rpc.InvalidMessageType, "a server takes calls, not a message type 9"},
			{"fail", thriftwire.Call, "\x00", rpc.InternalError, "out of paper"},
			{"quota", thriftwire.Call, "\x00", 16, "quota exceeded"},
			{"panic", thriftwire.Call, "\x00", rpc.InternalError, "panic in panic"},
			{"goexit", thriftwire.Call, "\x00", rpc.InternalError, "the handler ended its goroutine"},
			{"drop", thriftwire.Call, "\x00", rpc.InternalError, "the handler of drop dropped what it was to append to"},
			{"huge", thriftwire.Call, "\x00", rpc.InternalError, "exceeds the limit of 4096"},
			{"stock", thriftwire.Call, string(textStruct("")), rpc.InternalError, "no title given"},
		} {
			seq := int32(i + 1)
			p.send(p.message(c.mt, c.name, seq, []byte(c.body)))
			r := p.wantException(seq, c.code)
			if !strings.Contains(r.text, c.text) {
				t.Errorf("%s: message %q, want %q", c.name, r.text, c.text)
			}
			if want := c.name[strings.IndexByte(c.name, ':')+1:]; r.name != want {
				t.Errorf("%s: answered as %q", c.name, r.name)
			}
		}
		p.send(p.call("echo", 99, "still here"))
		p.want(99, "still here")
		l.await(t, "1234") // the log has what the client must not see
	})
}

func TestArgumentsThatCannotBeDecodedAreAProtocolError(t *testing.T) {
	_, address := listen(t, []rpc.Method{rpc.Unary("stock", stock)})
	p := connect(t, address, true)
	p.send(p.message(thriftwire.Call, "stock", 5, []byte("\x0b\x00\x01\x00\x00\x00\x7fshort")))
	p.wantException(5, rpc.ProtocolError)
	p.send(p.message(thriftwire.Call, "stock", 6, nil))
	p.wantException(6, rpc.ProtocolError)
}

func TestOnewayCallsAreNeverAnswered(t *testing.T) {
	ran := make(chan string, 10)
	note := func(_ context.Context, args, dst []byte) ([]byte, error) {
		ran <- textOf(args)
		return dst, errors.New("nobody will know")
	}
	oneway := raw("note", note)
	oneway.Oneway = true
	bothFramings(t, func(t *testing.T, framed bool) {
		_, address := listen(t, []rpc.Method{echo, oneway, raw("twoway", note)})
		p := connect(t, address, framed)
		p.send(p.message(thriftwire.Oneway, "note", 1, textStruct("a oneway method")))
		p.send(p.call("note", 2, "a oneway method, from a client that sends a call"))
		p.send(p.message(thriftwire.Oneway, "twoway", 3, textStruct("a twoway method")))
		p.send(p.message(thriftwire.Oneway, "nothing", 4, textStruct("an unknown method")))
		for range 3 {
			receive(t, "the method runs", ran)
		}
		p.send(p.call("echo", 5, "first reply"))
		p.want(5, "first reply")
	})
}

func TestRepliesLeaveInTheOrderOfArrival(t *testing.T) {
	release := make(chan struct{})
	slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
		<-release
		return append(dst, args...), nil
	})
	fast := make(chan struct{}, 10)
	quick := raw("quick", func(_ context.Context, args, dst []byte) ([]byte, error) {
		fast <- struct{}{}
		return append(dst, args...), nil
	})
	bothFramings(t, func(t *testing.T, framed bool) {
		release = make(chan struct{})
		_, address := listen(t, []rpc.Method{slow, quick})
		p := connect(t, address, framed)
		p.send(append(append(p.call("slow", 7, "first"), p.call("quick", 3, "second")...), p.call("quick", 7, "third")...))
		receive(t, "the second call runs beside the first", fast)
		receive(t, "the third call runs beside the first", fast)
		close(release)
		p.want(7, "first")
		p.want(3, "second")
		p.want(7, "third")
	})
}

func TestOneCallAtATimeWhenAskedFor(t *testing.T) {
	var order []string // no lock: the calls must not run at the same time
	note := raw("note", func(_ context.Context, args, dst []byte) ([]byte, error) {
		order = append(order, textOf(args))
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{note}, rpc.MaxConcurrentPerConn(1))
	p := connect(t, address, true)
	var calls []byte
	var want []string
	for i := range int32(200) {
		want = append(want, fmt.Sprint(i))
		calls = append(calls, p.call("note", i, want[i])...)
	}
	p.send(calls)
	for i := range int32(200) {
		p.want(i, want[i])
	}
	if fmt.Sprint(order) != fmt.Sprint(want) {
		t.Errorf("ran %v", order)
	}
}

func TestAStuckHandlerIsAnsweredWhenItsTimeHasPassed(t *testing.T) {
	release, started, saw := make(chan struct{}), make(chan struct{}, 100), make(chan error, 100)
	stuck := raw("stuck", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		started <- struct{}{}
		<-ctx.Done()
		saw <- ctx.Err()
		<-release
		return append(dst, textStruct("too late")...), nil
	})
	polite := raw("polite", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		<-ctx.Done()
		return dst, fmt.Errorf("giving up: %w", ctx.Err())
	})
	patient := echo
	patient.Expiry = -1
	var p *peer
	inTime(t, "a worker has the call before its time has passed", func(limit time.Duration) bool {
		_, address := listen(t, []rpc.Method{stuck, polite, patient}, rpc.TaskExpiry(limit))
		p = connect(t, address, true)
		p.send(append(p.call("stuck", 1, ""), p.call("polite", 2, "")...))
		p.wantException(1, rpc.Timeout)
		p.wantException(2, rpc.Timeout)
		return len(started) > 0
	})
	if err := receive(t, "the context ends", saw); err != context.DeadlineExceeded {
		t.Errorf("the handler saw %v", err)
	}
	p.send(p.call("echo", 3, "alive"))
	p.want(3, "alive")
	close(release)
	p.send(p.call("echo", 4, "and nothing else came"))
	p.want(4, "and nothing else came")
}

func TestTheHandlerLearnsThatItsClientHasGone(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	wait := raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return dst, ctx.Err()
	})
	_, address := listen(t, []rpc.Method{wait})
	p := connect(t, address, false)
	p.send(p.call("wait", 1, ""))
	receive(t, "the call runs", started)
	p.Close()
	if err := receive(t, "the context ends", ended); err != context.Canceled {
		t.Errorf("the handler saw %v", err)
	}
}

// A client may go as soon as it has sent a oneway call, whose handler may have to make calls with its context.
func TestOnewayCallsOutliveTheirClients(t *testing.T) {
	gone, ended := make(chan struct{}, 1), make(chan error, 1)
	wait := raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		<-ctx.Done()
		gone <- struct{}{}
		return dst, ctx.Err()
	})
	see := func(ctx context.Context) { // twice: when the client has gone, and when the server is closed
		<-gone
		ended <- ctx.Err()
		<-ctx.Done()
		ended <- ctx.Err()
	}
	for name, note := range map[string]rpc.Method{
		"plain": {Serve: func(ctx context.Context, _, dst []byte) ([]byte, error) {
			see(ctx)
			return dst, nil
		}},
		"a context that is asked for later": {Callback: func(_ []byte, r rpc.Responder) {
			go func() {
				<-gone
				gone <- struct{}{}
				see(r.Context())
				r.Done()
			}()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			note.Name, note.Oneway = "note", true
			server, address := listen(t, []rpc.Method{wait, note})
			p := connect(t, address, true)
			p.send(p.message(thriftwire.Oneway, "note", 1, textStruct("")))
			p.send(p.call("wait", 2, ""))
			p.Close()
			if err := receive(t, "the other call's context ends", ended); err != nil {
				t.Errorf("when the client has gone, the oneway call's context has ended: %v", err)
			}
			server.Close()
			if err := receive(t, "the context ends with the server", ended); err != context.Canceled {
				t.Errorf("when the server is closed: %v", err)
			}
		})
	}
}

// A connection that is reset takes nothing along that nobody waits for.
func TestOnewayCallsThatWaitOutliveTheirConnection(t *testing.T) {
	var ran atomic.Int32
	note := raw("note", func(context.Context, []byte, []byte) ([]byte, error) {
		ran.Add(1)
		return nil, nil
	})
	note.Oneway = true
	begun := make(chan struct{}, 1)
	wait := raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return dst, ctx.Err()
	})
	_, address := listen(t, []rpc.Method{wait, note}, rpc.MaxConcurrentPerConn(1))
	p := connect(t, address, true)
	p.send(p.call("wait", 1, ""))
	receive(t, "the first call runs", begun)
	for i := range int32(3) {
		p.send(p.message(thriftwire.Oneway, "note", 2+i, textStruct("")))
	}
	p.Conn.(*net.TCPConn).SetLinger(0)
	p.Close()
	eventually(t, "all have run", func() bool { return ran.Load() == 3 })
}

func TestNamesLeadToMethods(t *testing.T) {
	noLeaks(t)
	say := func(name, text string) rpc.Method {
		return raw(name, func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, textStruct(text)...), nil })
	}
	server := newServer()
	for _, s := range []*rpc.Service{
		{Name: "A", Methods: []rpc.Method{say("both", "A.both"), say("onlyA", "A.onlyA")}},
		{Name: "B", Methods: []rpc.Method{say("both", "B.both")}},
		{Name: "", Methods: []rpc.Method{say("bare", ".bare")}},
	} {
		if err := server.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	p := connect(t, serveOn(t, server, "tcp"), true)
	for name, want := range map[string]string{"A:both": "A.both", "B:both": "B.both", "A:onlyA": "A.onlyA", "onlyA": "A.onlyA", "bare": ".bare"} {
		p.send(p.call(name, 1, ""))
		p.want(1, want)
	}
	for _, name := range []string{"both", "B:onlyA", ":bare", "A:", "", "A", ":"} {
		p.send(p.call(name, 2, ""))
		p.wantException(2, rpc.UnknownMethod)
	}
	if err := server.Register(&rpc.Service{Name: "C", Methods: []rpc.Method{say("late", "C.late")}}); err != nil {
		t.Fatal(err)
	}
	p.send(p.call("late", 3, ""))
	p.want(3, "C.late")
}

func TestARefusedServiceChangesNothing(t *testing.T) {
	server := rpc.NewServer()
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
		t.Fatal(err)
	}
	type notAStruct int
	for name, s := range map[string]*rpc.Service{
		"nil":         nil,
		"taken":       {Name: "S"},
		"colon":       {Name: "a:b"},
		"no name":     {Name: "T", Methods: []rpc.Method{echo, {Serve: echo.Serve}}},
		"colon in it": {Name: "T", Methods: []rpc.Method{{Name: "a:b", Serve: echo.Serve}}},
		"no handler":  {Name: "T", Methods: []rpc.Method{{Name: "m"}}},
		"twice":       {Name: "T", Methods: []rpc.Method{echo, echo}},
		"no struct": {Name: "T", Methods: []rpc.Method{rpc.Unary("m", func(context.Context, *notAStruct, *stockResult) error {
			return nil
		})}},
	} {
		if err := server.Register(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := server.Register(&rpc.Service{Name: "T", Methods: []rpc.Method{raw("other", echo.Serve)}}); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}
