package rpcsuite

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
)

// This file holds what a process is that serves, whatever the library: it
// listens, serves, and tells of its memory when it is asked.

// goServers has the servers in Go. Each makes a listener of a free port of
// the loopback interface, and a function that serves it and does not return.
var goServers = map[string]Server{
	"callback":       func() (net.Addr, func() error, error) { return oursServer("callback") },
	"plain":          func() (net.Addr, func() error, error) { return oursServer("plain") },
	"future":         func() (net.Addr, func() error, error) { return oursServer("future") },
	"busy":           func() (net.Addr, func() error, error) { return busyServer("callback", 0) },
	"overloaded":     func() (net.Addr, func() error, error) { return busyServer("plain", queueTimeout) },
	"apache":         func() (net.Addr, func() error, error) { return apacheServer(false) },
	"apache-theader": func() (net.Addr, func() error, error) { return apacheServer(true) },
	"kitex":          func() (net.Addr, func() error, error) { return kitexServer(false) },
	"kitex-mux":      func() (net.Addr, func() error, error) { return kitexServer(true) },
	"grpc":           grpcServer,
	"goloop":         goLoopServer,
}

// listen opens a free port.
func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// request is what a server in Go can be asked.
type request struct {
	Settle  bool   // first collect garbage and give memory back to the system
	Profile string // first write a CPU profile to this file, until the next request
}

// usage is what a server in Go tells of itself. Times are in nanoseconds.
type usage struct {
	Allocated    uint64 // bytes, since it started
	Allocations  uint64 // objects, since it started
	Heap, Stacks uint64 // bytes in use
	User, System int64
}

func (c *Contest) serve(name string, in io.Reader, out io.Writer) error {
	start := c.Servers[name]
	if start == nil {
		return fmt.Errorf("no server %q", name)
	}
	address, run, err := start()
	if err != nil {
		return err
	}
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("the server listens on %v, not on TCP", address)
	}
	fmt.Fprintf(out, "port %d\n", tcp.Port)
	ended := make(chan error, 2)
	go func() { ended <- errors.Join(errors.New("the server ended by itself"), run()) }()
	go func() { ended <- answerEach(in, out, new(profile).answer) }()
	return <-ended
}

// profile is the CPU profile that is being written, if there is one.
type profile struct{ file *os.File }

func (p *profile) answer(q request) (usage, error) {
	if p.file != nil {
		pprof.StopCPUProfile()
		if err := p.file.Close(); err != nil {
			return usage{}, err
		}
		p.file = nil
	}
	if q.Settle {
		debug.FreeOSMemory()
	}
	u := ownUsage()
	if q.Profile == "" {
		return u, nil
	}
	f, err := os.Create(q.Profile)
	if err != nil {
		return usage{}, err
	}
	p.file = f
	return u, pprof.StartCPUProfile(f)
}

func ownUsage() usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	user, system := ownTimes()
	return usage{
		Allocated: samples[0].Value.Uint64(), Allocations: samples[1].Value.Uint64(),
		Heap: samples[2].Value.Uint64(), Stacks: samples[3].Value.Uint64(),
		User: int64(user), System: int64(system),
	}
}
