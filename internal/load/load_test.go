package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
)

func TestEveryFormIsServedAndChecked(t *testing.T) {
	address, web := serve(t), serveHTTP(t)
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			echo := request(t, f, "echo", text(1, strings.Repeat("text", 300)))
			if f.Protocol == 0 {
				echo.Expect = text(0, strings.Repeat("text", 300))
			}
			c := load.Config{
				Address: address, Form: f, Requests: []load.Request{echo, request(t, f, "noop", []byte{0})},
				Connections: 3, Depth: 20, Duration: 100 * time.Millisecond,
			}
			if f.Dialect == load.HTTP {
				c.Address = web
			}
			res := drive(t, c)
			if res.Failed() > 0 || res.Replies < 100 || len(res.Kinds) != 2 || res.Kinds[1].Latency.Count < 50 {
				t.Errorf("%+v", res)
			}
			if res.Latency.Count < res.Replies/2 || res.Latency.P50 == 0 || res.Latency.P50 > res.Latency.P99 || res.Latency.P99 > res.Latency.Max {
				t.Errorf("latency %+v", res.Latency)
			}
			c.Rate, c.Depth = 2000, 100
			res = drive(t, c)
			if unsent := res.Errors[load.Unsent]; res.Failed() > unsent || res.Latency.Count+unsent != 200 || res.Lag.Count != res.Latency.Count {
				t.Errorf("open loop: %+v", res)
			}
		})
	}
}
