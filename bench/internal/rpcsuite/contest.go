package rpcsuite

import (
	"context"
	"io"
	"maps"
	"net"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file lets another suite measure servers and clients of its own with the
// processes of this one, as the work rpc-both does.

// Server makes a listener of a free port of the loopback interface, and a
// function that serves it and does not return.
type Server func() (net.Addr, func() error, error)

// Call makes one call and checks its result.
type Call func(context.Context) error

// Load is what clients are to do: callers that make one call of a shape after another.
type Load struct {
	Address string
	Shape   string
	Callers int
}

// Client opens the clients of a load: a call for each caller, and what is to
// be closed behind them.
type Client func(Load) ([]Call, []io.Closer, error)

// Contest has the processes of a suite by their names, which no other suite has.
type Contest struct {
	Servers map[string]Server
	Clients map[string]opener
}

// NewContest returns the contest of servers and of clients that call them.
func NewContest(servers map[string]Server, clients map[string]Client) Contest {
	c := Contest{Servers: servers, Clients: map[string]opener{}}
	for name, open := range clients {
		c.Clients[name] = func(j *job) ([]Call, []io.Closer, error) {
			return open(Load{Address: j.Address, Shape: j.Calls[0].Shape, Callers: j.Connections * j.Depth})
		}
	}
	return c
}

// merged returns all that this program can be as a child.
func merged(contests []Contest) *Contest {
	all := &Contest{Servers: maps.Clone(goServers), Clients: maps.Clone(goClients)}
	for _, c := range contests {
		maps.Copy(all.Servers, c.Servers)
		maps.Copy(all.Clients, c.Clients)
	}
	return all
}

// Match is a group of contestants, each a server and the client that calls it.
type Match struct {
	Work, Shape string
	Calls       string // the shape of its calls
	Bytes       int
	Callers     int
	Sides       []Side // ours first
}

// Side is a contestant.
type Side struct{ Name, Server, Client string }

// Measure measures matches of a suite: the processor time of both sides per
// call, and what the callers saw.
func Measure(out io.Writer, suite string, matches []Match, o harness.Options, report *harness.Report) error {
	var groups []*group
	for _, m := range matches {
		g := &group{
			Group: harness.Group{Work: m.Work, Shape: m.Shape, Bytes: m.Bytes},
			shape: m.Calls, load: point{1, m.Callers},
			dialects: map[string]string{}, servers: map[string]string{}, clients: map[string]string{},
		}
		for i, s := range m.Sides {
			g.Contestants = append(g.Contestants, harness.Contestant{Name: s.Name})
			g.servers[s.Name], g.clients[s.Name] = s.Server, s.Client
			if i > 0 {
				g.Pairs = append(g.Pairs, harness.Pair{Ours: m.Sides[0].Name, Peer: s.Name, Label: s.Name})
			}
		}
		if _, some := g.Select(suite, o.Match); some {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	l, err := newLab(out, suite, o)
	if err != nil {
		return err
	}
	defer l.close()
	if o.Short && !l.quick {
		l.pace = shortMatch
	}
	return l.groupsWork(groups, "", o, report)
}
