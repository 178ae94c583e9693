package trpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	google "github.com/google/flatbuffers/go"
	_ "trpc.group/trpc-go/trpc-go" // registers the protocol
	"trpc.group/trpc-go/trpc-go/client"
	"trpc.group/trpc-go/trpc-go/codec"
	"trpc.group/trpc-go/trpc-go/errs"
	"trpc.group/trpc-go/trpc-go/server"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// patience is how long a call may take before a test fails.
const patience = 30 * time.Second

const (
	service = "test.Words"
	repeat  = "/test.Words/Repeat"
)

// The compressions that both sides have.
var compressions = []trpc.Compression{trpc.None, trpc.Gzip, trpc.Snappy, trpc.Zlib, trpc.SnappyStream, trpc.SnappyBlock}

// outcome is what the handlers of both sides do with a text: an error, or none.
func outcome(text string) (status int, business bool) {
	switch text {
	case "sold out":
		return 4711, true
	case "invalid":
		return int(trpc.ServerValidate), false
	}
	return 0, false
}

// thrumServer serves Words by Thrum until the test ends.
func thrumServer(t *testing.T, methods ...rpc.Method) string {
	t.Helper()
	s := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	methods = append(methods, flatrpc.Unary("Repeat", words.Verifier(), thrumRepeat, flatrpc.AcceptJSON(wordJSON(t), wordJSON(t))))
	if err := s.Register(&rpc.Service{Name: service, Methods: methods}); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wordJSON converts Words from and to JSON.
func wordJSON(t *testing.T) *flatjson.Converter {
	t.Helper()
	text := "table Word { text: string (required); count: int = 1; } root_type Word;"
	file, _ := fbsidl.Load("word.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"word.fbs": []byte(text)}))
	if file == nil {
		t.Fatal("the schema does not compile")
	}
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func thrumRepeat(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
	info, _ := rpc.Info(ctx)
	if who, ok := info.Header("who"); ok {
		info.SetReplyHeader("seen", who)
	}
	if a := info.Attachment(); len(a) > 0 {
		info.SetReplyAttachment(append(bytes.Clone(a), '!'))
	}
	switch code, business := outcome(req.Text()); {
	case business:
		return nil, &rpc.BizStatus{Code: int32(code), Message: "as asked"}
	case code != 0:
		return nil, &rpc.StatusError{Code: trpc.Code(code), Message: "as asked"}
	}
	return words.New(flatrpc.NewBuilder(ctx), strings.Repeat(req.Text(), int(req.Count())), req.Count()), nil
}

// peerServer serves Words by trpc-go until the test ends.
func peerServer(t *testing.T, streams ...server.StreamDesc) string {
	t.Helper()
	l := listen(t)
	s := server.New(server.WithListener(l), server.WithNetwork("tcp"), server.WithProtocol("trpc"), server.WithServiceName(service),
		server.WithAddress(l.Addr().String()), server.WithCloseWaitTime(0))
	desc := &server.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), Streams: streams,
		Methods: []server.Method{{Name: repeat, Func: peerRepeat}}}
	if len(streams) > 0 {
		desc.StreamHandle = newStreamHandle()
	}
	if err := s.Register(desc, nil); err != nil {
		t.Fatal(err)
	}
	go s.Serve()
	t.Cleanup(func() { s.Close(nil) })
	return l.Addr().String()
}

func peerRepeat(_ any, ctx context.Context, f server.FilterFunc) (any, error) {
	req := &GoogleWord{}
	filters, err := f(req)
	if err != nil {
		return nil, err
	}
	return filters.Filter(ctx, req, func(ctx context.Context, _ any) (any, error) {
		msg := codec.Message(ctx)
		if who := msg.ServerMetaData()["who"]; len(who) > 0 {
			msg.WithServerMetaData(codec.MetaData{"seen": who})
		}
		if a := server.GetAttachment(msg); a != nil {
			if b, err := io.ReadAll(a.Request()); err == nil && len(b) > 0 {
				a.SetResponse(bytes.NewReader(append(b, '!')))
			}
		}
		switch code, business := outcome(req.Text()); {
		case business:
			return nil, errs.New(code, "as asked")
		case code != 0:
			return nil, errs.NewFrameError(code, "as asked")
		}
		return googleWord(strings.Repeat(req.Text(), int(req.Count())), req.Count()), nil
	})
}

// peerOptions are those of trpc-go's clients.
func peerOptions(address string, c trpc.Compression) []client.Option {
	return []client.Option{client.WithTarget("ip://" + address), client.WithNetwork("tcp"), client.WithProtocol("trpc"),
		client.WithSerializationType(codec.SerializationTypeFlatBuffer), client.WithCompressType(int(c)), client.WithTimeout(patience)}
}

// peerCall calls Repeat by trpc-go.
func peerCall(method, text string, count int32, opts ...client.Option) (*GoogleWord, error) {
	ctx, msg := codec.WithCloneMessage(context.Background())
	defer codec.PutBackMessage(msg)
	msg.WithClientRPCName(method)
	msg.WithCalleeServiceName(service)
	reply := &GoogleWord{}
	return reply, client.New().Invoke(ctx, googleWord(text, count), reply, opts...)
}

func TestThePeersClientCallsThrumsServer(t *testing.T) {
	address := thrumServer(t)
	for _, c := range compressions {
		for _, multiplexed := range []bool{false, true} {
			opts := append(peerOptions(address, c), client.WithMultiplexed(multiplexed))
			var calls sync.WaitGroup
			for n := range int32(20) {
				calls.Add(1)
				go func() {
					defer calls.Done()
					text, count := fmt.Sprintf("call %d;", n), n*n*n
					reply, err := peerCall(repeat, text, count, opts...)
					if err != nil || reply.Text() != strings.Repeat(text, int(count)) || reply.Count() != count {
						t.Errorf("%s: %q %d times: %v", c, text, count, err)
					}
				}()
			}
			calls.Wait()
		}
	}
}

func TestThePeersClientGetsThrumsCodes(t *testing.T) {
	address := thrumServer(t)
	opts := peerOptions(address, trpc.None)
	for text, want := range map[string]int{"sold out": 4711, "invalid": int(trpc.ServerValidate)} {
		_, err := peerCall(repeat, text, 1, opts...)
		if errs.Code(err) != errs.Code(errs.New(want, "")) || errs.Msg(err) != "as asked" {
			t.Errorf("%s: %v", text, err)
		}
		_, business := outcome(text)
		if e, ok := err.(*errs.Error); !ok || (e.Type == errs.ErrorTypeBusiness) != business {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := peerCall("/test.Words/Other", "a", 1, opts...); errs.Code(err) != errs.RetServerNoFunc {
		t.Error(err)
	}
	if _, err := peerCall("/test.Others/Repeat", "a", 1, opts...); errs.Code(err) != errs.Code(errs.New(int(trpc.NoService), "")) {
		t.Error(err)
	}
	// What Thrum cannot undo is refused by name, and the connection goes on.
	if _, err := peerCall(repeat, "a", 1, peerOptions(address, trpc.LZ4Frame)...); errs.Code(err) != errs.RetServerDecodeFail || !strings.Contains(errs.Msg(err), "lz4") {
		t.Error(err)
	}
}

func TestThePeersHeadersAndAttachmentsReachThrumsServerAndBack(t *testing.T) {
	ctx, msg := codec.WithCloneMessage(context.Background())
	defer codec.PutBackMessage(msg)
	msg.WithClientRPCName(repeat)
	msg.WithCalleeServiceName(service)
	attachment := client.NewAttachment(strings.NewReader("beside"))
	reply := &GoogleWord{}
	opts := append(peerOptions(thrumServer(t), trpc.None), client.WithMetaData("who", []byte("Ada")), client.WithAttachment(attachment))
	if err := client.New().Invoke(ctx, googleWord("a", 3), reply, opts...); err != nil {
		t.Fatal(err)
	}
	rsp := msg.ClientMetaData()
	if string(rsp["seen"]) != "Ada" || reply.Text() != "aaa" {
		t.Errorf("%q, %v", reply.Text(), rsp)
	}
	if b, err := io.ReadAll(attachment.Response()); err != nil || string(b) != "beside!" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestThePeersClientCallsThrumsServerInJSON(t *testing.T) {
	ctx, msg := codec.WithCloneMessage(context.Background())
	defer codec.PutBackMessage(msg)
	msg.WithClientRPCName(repeat)
	msg.WithCalleeServiceName(service)
	reply := map[string]any{}
	opts := append(peerOptions(thrumServer(t), trpc.Gzip), client.WithSerializationType(codec.SerializationTypeJSON))
	err := client.New().Invoke(ctx, map[string]any{"text": "ab", "count": 3}, &reply, opts...)
	if err != nil || reply["text"] != "ababab" {
		t.Errorf("%v: %v", reply, err)
	}
}

// dial returns a client of Thrum.
func dial(t *testing.T, address string, c trpc.Compression) *rpc.MessageClient {
	t.Helper()
	thrum, err := rpc.DialMessages(context.Background(), "tcp", address, rpc.CompressMessages(c), rpc.CallTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { thrum.Close() })
	return thrum
}

func TestThrumsClientCallsThePeersServer(t *testing.T) {
	address := peerServer(t)
	for _, c := range compressions {
		thrum := dial(t, address, c)
		var calls sync.WaitGroup
		for n := range int32(20) {
			calls.Add(1)
			go func() {
				defer calls.Done()
				text, count := fmt.Sprintf("call %d;", n), n*n*n
				reply, err := flatrpc.Call[words.Word](context.Background(), thrum, repeat, words.New(nil, text, count), words.Verifier())
				if err != nil || reply.Text() != strings.Repeat(text, int(count)) || reply.Count() != count {
					t.Errorf("%s: %q %d times: %v", c, text, count, err)
				}
			}()
		}
		calls.Wait()
	}
}

func TestThrumsClientGetsThePeersCodes(t *testing.T) {
	thrum := dial(t, peerServer(t), trpc.None)
	call := func(method, text string) error {
		_, err := flatrpc.Call[words.Word](context.Background(), thrum, method, words.New(nil, text, 1), words.Verifier())
		return err
	}
	var biz *rpc.BizStatus
	if err := call(repeat, "sold out"); !errors.As(err, &biz) || biz.Code != 4711 || biz.Message != "as asked" {
		t.Error(err)
	}
	var status *rpc.StatusError
	if err := call(repeat, "invalid"); !errors.As(err, &status) || status.Code != trpc.ServerValidate || status.Message != "as asked" {
		t.Error(err)
	}
	if err := call("/test.Words/Other", "a"); !errors.As(err, &status) || status.Code != trpc.NoFunc {
		t.Error(err)
	}
}

func TestThrumsHeadersAndAttachmentsReachThePeersServerAndBack(t *testing.T) {
	thrum := dial(t, peerServer(t), trpc.None)
	err := thrum.InvokeMessage(rpc.WithHeader(context.Background(), "who", "Ada"), &rpc.MessageCall{
		Method: repeat, Request: rpc.Message{Type: 3, Body: googleWord("a", 3).FinishedBytes()}, Attachment: []byte("beside"),
		ReadReply: func(m rpc.Message, attachment []byte) error {
			reply := &GoogleWord{}
			reply.Init(m.Body, google.GetUOffsetT(m.Body))
			if reply.Text() != "aaa" || string(attachment) != "beside!" {
				t.Errorf("%q with %q beside it", reply.Text(), attachment)
			}
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}
