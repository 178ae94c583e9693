package flatgeneric_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/schema"
)

const shopIDL = `
namespace shop;
table Order { id:ulong; names:[string]; }
table Item { name:string; price:double = 1.5; }
root_type Order;
file_identifier "ORDR";
rpc_service Shop {
	Place(Order):Item;
	Watch(Order):Item (streaming:"server");
	Feed(Order):Item (streaming:"client");
	Chat(Order):Item (streaming:"bidi");
}
`

func shop(t testing.TB) *schema.Service {
	t.Helper()
	file, list := fbsidl.Load("shop.fbs", fbsidl.Sources(map[string][]byte{"shop.fbs": []byte(shopIDL)}), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return file.Service("Shop")
}

func method(t testing.TB, name string) *flatgeneric.Method {
	t.Helper()
	m, err := flatgeneric.NewMethod(shop(t).Method(name))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// place answers an order with its first name, and refuses one without names.
func place(_ context.Context, m *schema.Method, req flatbuffers.Value) (any, error) {
	name, err := req.Field("names").Index(0).Text()
	if err != nil {
		return nil, &rpc.BizStatus{Code: 7, Message: "no names"}
	}
	return map[string]any{"name": m.Name() + " " + name, "price": 2}, nil
}

// echo answers each message of a stream with its first name, or, of Feed, all of them at the end.
func echo(_ context.Context, m *schema.Method, s *flatgeneric.Stream) error {
	all := ""
	for {
		req, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		name, err := req.Field("names").Index(0).Text()
		if err != nil {
			return &rpc.BizStatus{Code: 7, Message: "no names"}
		}
		all += name
		if m.Name() == "Feed" {
			continue
		}
		if err := s.SendJSON([]byte(`{"name":"` + name + `"}`)); err != nil {
			return err
		}
	}
	if m.Name() == "Feed" {
		return s.Send(map[string]any{"name": all})
	}
	return nil
}

func serve(t *testing.T) *rpc.MessageClient {
	t.Helper()
	s, err := flatgeneric.Serve(shop(t), place, echo)
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.StartMessages(t, s)
}

func TestCallsGoByValuesAndByJSON(t *testing.T) {
	c, m := serve(t), method(t, "Place")
	if m.Path() != "/shop.Shop/Place" {
		t.Errorf("the method is called as %s", m.Path())
	}
	reply, err := m.Call(t.Context(), c, map[string]any{"id": 3, "names": []string{"pen"}})
	if err != nil {
		t.Fatal(err)
	}
	if name, err := reply.Field("name").Text(); err != nil || name != "Place pen" {
		t.Errorf("the reply names %q, %v", name, err)
	}
	text, err := m.CallJSON(t.Context(), c, []byte(`{"id":3,"names":["ink"]}`))
	if want := `{"name":"Place ink","price":2}`; err != nil || string(text) != want {
		t.Errorf("the reply is %s, %v; want %s", text, err, want)
	}
	var biz *rpc.BizStatus
	if _, err := m.CallJSON(t.Context(), c, []byte(`{}`)); !errors.As(err, &biz) || biz.Code != 7 {
		t.Errorf("an order without names failed with %v", err)
	}
}

func TestArgumentsThatDoNotFitAreNotSent(t *testing.T) {
	c, m := serve(t), method(t, "Place")
	for _, err := range []error{
		second(m.CallJSON(t.Context(), c, []byte(`{"id":-1}`))),
		second(m.CallJSON(t.Context(), c, []byte(`{"nmaes":[]}`))),
		second(m.Call(t.Context(), c, map[string]any{"id": "x"})),
		second(m.Call(t.Context(), c, 7)),
	} {
		var fault *diag.Fault
		var sent *rpc.Error
		if !errors.As(err, &fault) || errors.As(err, &sent) {
			t.Errorf("the failure is %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestJSONHandlersServeClientsOfBothFormats(t *testing.T) {
	s, err := flatgeneric.ServeJSON(shop(t), func(_ context.Context, m *schema.Method, req []byte) ([]byte, error) {
		if string(req) == `{"id":1}` {
			return []byte(`{"name":1}`), nil
		}
		return []byte(`{"name":"` + strings.ReplaceAll(string(req), `"`, `'`) + `"}`), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Methods) != 1 {
		t.Errorf("without a handler of streams there are %d methods, want 1", len(s.Methods))
	}
	c, m := rpctest.StartMessages(t, s), method(t, "Place")
	text, err := m.CallJSON(t.Context(), c, []byte(`{"id":3}`))
	if want := `{"name":"{'id':3}"}`; err != nil || string(text) != want {
		t.Errorf("the reply is %s, %v; want %s", text, err, want)
	}
	var status *rpc.StatusError
	var biz *rpc.BizStatus
	if _, err = m.CallJSON(t.Context(), c, []byte(`{"id":1}`)); !errors.As(err, &status) && !errors.As(err, &biz) {
		t.Errorf("a reply that does not fit became %v", err)
	}
	var body string
	err = c.InvokeMessage(t.Context(), &rpc.MessageCall{
		Method: m.Path(), Request: rpc.Message{Type: transport.JSON, Body: []byte(`{"id":4}`)},
		ReadReply: func(reply rpc.Message, _ []byte) error {
			body = string(reply.Body)
			return nil
		},
	})
	if want := `{"name":"{'id':4}"}`; err != nil || body != want {
		t.Errorf("a client of JSON got %s, %v; want %s", body, err, want)
	}
}

func TestBrokenRequestsDoNotReachHandlers(t *testing.T) {
	c, m := serve(t), method(t, "Place")
	var status *rpc.StatusError
	err := c.InvokeMessage(t.Context(), &rpc.MessageCall{
		Method: m.Path(), Request: rpc.Message{Type: transport.FlatBuffers, Body: []byte("\x10\x00\x00\x00broken")},
		ReadReply: func(rpc.Message, []byte) error { return nil },
	})
	if !errors.As(err, &status) || status.Code != trpc.ServerDecode {
		t.Errorf("a broken request was answered with %v", err)
	}
}

func TestStreamsGoBothWays(t *testing.T) {
	c := serve(t)
	for name, want := range map[string]string{"Watch": "a|", "Feed": "ab|", "Chat": "a|b|"} {
		s, err := method(t, name).Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SendJSON([]byte(`{"names":["a"]}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var fault *diag.Fault
		if err := s.Send(map[string]any{"names": 1}); !errors.As(err, &fault) {
			t.Errorf("%s: a message that does not fit was %v", name, err)
		}
		if name != "Watch" {
			if err := s.Send(map[string]any{"names": []string{"b"}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.CloseSend(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := ""
		for {
			text, err := s.RecvJSON()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got += strings.TrimSuffix(strings.TrimPrefix(string(text), `{"name":"`), `"}`) + "|"
		}
		if got != want {
			t.Errorf("%s gave %s, want %s", name, got, want)
		}
	}
}

func TestAStreamEndsWithItsHandlersError(t *testing.T) {
	s, err := method(t, "Chat").Open(t.Context(), serve(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SendJSON([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	var biz *rpc.BizStatus
	if _, err := s.Recv(); !errors.As(err, &biz) || biz.Code != 7 {
		t.Errorf("the outcome is %v", err)
	}
}
