package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// TestGatewayGivesTheSameAnswers makes the calls of the list over HTTP with
// JSON, so that its answers equal those that Apache's clients get.
func TestGatewayGivesTheSameAnswers(t *testing.T) {
	calls, service := loadCalls(t), loadShop(t)
	books, port := startShop(t)
	handler, err := gateway.New([]*schema.File{service.File()}, dial(t, port, wiring{"framed", "binary", ""}),
		gateway.Conversion(transcode.NonFinite(transcode.NonFiniteStrings)))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(handler)
	t.Cleanup(front.Close)
	for _, c := range calls {
		status, body := post(t, front.URL+"/Shop/"+c.Method, c.Args)
		compareHTTP(t, service, c, status, body)
	}
	checkOneway(t, books)
}

func post(t *testing.T, url string, body []byte) (status int, reply []byte) {
	t.Helper()
	r, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	reply, err = io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, reply
}

// compareHTTP compares a reply with a call's wanted result: the success is the
// body, a declared exception the problem's member of that name.
func compareHTTP(t *testing.T, service *schema.Service, c call, status int, body []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(c.Want, &want); err != nil {
		t.Fatal(err)
	}
	var problem struct {
		Exception json.RawMessage `json:"exception"`
	}
	if status >= http.StatusBadRequest {
		if err := json.Unmarshal(body, &problem); err != nil {
			t.Errorf("%s: status %d with %q: %v", c.Name, status, body, err)
			return
		}
	}
	for name := range want {
		result := json.RawMessage(`{}`)
		switch {
		case name == "applicationException":
			// The statuses of these are the gateway's own affair.
			if status < http.StatusBadRequest || problem.Exception != nil {
				t.Errorf("%s: status %d with %s, want a problem without an exception", c.Name, status, body)
			}
			return
		case name == "success" && status < http.StatusMultipleChoices:
			result = wrap(t, name, body)
		case problem.Exception != nil:
			result = wrap(t, name, problem.Exception)
		}
		compare(t, service, c, result)
		return
	}
	// Nothing comes back from a void or oneway method.
	if status >= http.StatusMultipleChoices || len(body) > 0 {
		t.Errorf("%s: status %d with %q, want a success without content", c.Name, status, body)
	}
}

func wrap(t *testing.T, name string, value []byte) json.RawMessage {
	t.Helper()
	out, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
