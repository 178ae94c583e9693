package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// This file holds what a run is to do.

// Config says what a run is to do. Network, Address and Requests are needed.
type Config struct {
	Network, Address string // as for net.Dial

	// Dial replaces net.Dialer, for TLS and tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Form     Form      // that the requests were made with
	Requests []Request // mixed by their weights; at most 65,536

	Connections int // 1 if it is 0
	Depth       int // outstanding requests that each connection may have; 1 if it is 0, at most 65,536

	Rate    float64 // requests per second over all connections; 0 makes a closed loop
	Poisson bool    // requests come as from independent callers, not evenly

	Warmup   time.Duration // before what is measured
	Duration time.Duration // that is measured; 0 means until the context ends

	// Timeout is how long a reply is waited for, from when its request was
	// sent, and how long to dial; 10 s if it is 0. What has been sent within
	// Duration is waited for, after its end too.
	Timeout time.Duration

	MaxReply int    // the largest reply in bytes; 64 MiB if it is 0
	Seed     uint64 // of the order of requests and of Poisson times

	// Begin and End, unless they are nil, are called when what is measured
	// begins and ends, for who measures the server beside it. Result.Replies
	// and Result.Elapsed are what lay between the calls.
	Begin, End func()

	// Progress, unless it is nil, is called about once a second.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Elapsed time.Duration // since the start, warm-up included
	Warmup  bool          // measuring has not begun
	Replies int64         // good ones in all
	Errors  int64         // failed requests in all
	Last    Second        // of the series
}

// The limits of a Config.
const (
	maxDepth    = 1 << 16
	maxRequests = 1 << 16
	maxWeights  = 1 << 22 // in all
	maxConns    = 1 << 17
)

// complete fills in defaults and says what cannot be.
func (c *Config) complete() error {
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Connections == 0 {
		c.Connections = 1
	}
	if c.Depth == 0 {
		c.Depth = 1
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.MaxReply == 0 {
		c.MaxReply = 64 << 20
	}
	switch {
	case c.Connections < 0 || c.Connections > maxConns:
		return fmt.Errorf("load: %d connections; there can be 1 to %d", c.Connections, maxConns)
	case c.Depth < 0 || c.Depth > maxDepth:
		return fmt.Errorf("load: depth %d; it can be 1 to %d", c.Depth, maxDepth)
	case !(c.Rate >= 0 && c.Rate <= 1e9):
		return fmt.Errorf("load: rate %v; it can be up to 1e9 requests a second", c.Rate)
	case c.Timeout < time.Millisecond || c.Warmup < 0 || c.Duration < 0 || c.MaxReply < 0:
		return errors.New("load: a duration or limit is negative or too short")
	case len(c.Requests) == 0 || len(c.Requests) > maxRequests:
		return fmt.Errorf("load: %d requests; there can be 1 to %d", len(c.Requests), maxRequests)
	}
	weights := 0
	for i := range c.Requests {
		r := &c.Requests[i]
		if len(r.frame) == 0 || r.Weight < 0 || r.Weight > maxWeights {
			return fmt.Errorf("load: request %d was not made by Form.Request, or has weight %d", i, r.Weight)
		}
		weights += max(r.Weight, 1)
	}
	if weights > maxWeights {
		return fmt.Errorf("load: the weights of all requests are %d; they can be %d", weights, maxWeights)
	}
	if err := c.Form.check(); err != nil {
		return err
	}
	if c.Form.Dialect == HTTP2 || c.Form.Dialect == GRPC {
		c.Dial = dialHTTP2(c)
	}
	return nil
}
