package rpcsuite

import (
	"slices"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work rpc-both: the processor time per call of a library's
// server and of its own client, together.

// pair is a server and the client that calls it.
type pair struct {
	name           string // of the contestant
	server, client string
}

var bothOurs = []pair{
	{name: "plain/framed", server: "plain", client: "thrum"},
	{name: "plain/ttheader", server: "plain", client: "thrum-ttheader"},
	{name: "plain/ttheader/cluster", server: "plain", client: "thrum-cluster"},
	{name: "plain/ttheader/comforts", server: "plain", client: "thrum-comforts"},
	{name: "callback/framed", server: "callback", client: "thrum"},
	{name: "callback/ttheader", server: "callback", client: "thrum-ttheader"},
}

var bothPeers = []pair{
	{name: "kitex", server: "kitex", client: "kitex"},
	{name: "kitex-mux", server: "kitex-mux", client: "kitex-mux"},
	{name: "apache", server: "apache", client: "apache"},
	{name: "grpc", server: "grpc", client: "grpc"},
}

// callers are how many goroutines call at a time, on one connection where the
// client can share it.
var callers = []int{1, 16, 100}

// bothGroups returns the groups of rpc-both.
func bothGroups(short bool) []*group {
	var all []*group
	for _, shape := range []string{"noop", "echo32", "echo1k"} {
		for _, n := range callers {
			if short && (shape != "noop" || n != 100) {
				continue
			}
			load := point{1, n}
			g := &group{
				Group: harness.Group{Work: "rpc-both", Shape: shape + "/" + load.String(), Bytes: sizes[shape]},
				shape: shape, load: load, dialects: map[string]string{}, servers: map[string]string{}, clients: map[string]string{},
			}
			for _, p := range slices.Concat(bothOurs, bothPeers) {
				g.Contestants = append(g.Contestants, harness.Contestant{Name: p.name})
				g.servers[p.name], g.clients[p.name] = p.server, p.client
			}
			for _, ours := range bothOurs {
				for _, p := range bothPeers {
					g.Pairs = append(g.Pairs, harness.Pair{Ours: ours.name, Peer: p.name, Label: p.name})
				}
			}
			all = append(all, g)
		}
	}
	return all
}

// bothWork measures the groups of rpc-both that the options select.
func (l *lab) bothWork(o harness.Options, report *harness.Report) error {
	return l.groupsWork(bothGroups(o.Short || l.quick), "", o, report)
}
