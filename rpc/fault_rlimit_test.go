//go:build linux || darwin

package rpc_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file tests a server in a process that runs out of descriptors.

// poor makes the test binary a server with so few descriptors.
var poor = flag.Int("descriptors", 0, "serve with at most so many descriptors, until standard input ends")

func TestPoorServer(t *testing.T) {
	if *poor == 0 {
		t.Skip("this is the server of TestAServerThatRunsOutOfDescriptorsRecovers")
	}
	limit := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = uint64(*poor)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var log logs
	_, address := host(t, []rpc.Method{echo}, log.option())
	fmt.Println("serving", address)
	io.Copy(io.Discard, os.Stdin)
	log.await(t, syscall.EMFILE.Error())
}

func TestAServerThatRunsOutOfDescriptorsRecovers(t *testing.T) {
	noLeaks(t)
	server := exec.Command(os.Args[0], "-test.run=^TestPoorServer$", "-descriptors=64")
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); errors.Is(err, syscall.ENOEXEC) {
		in.Close()
		t.Skip("an emulator runs this test, and the system cannot start its program by itself")
	} else if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	defer func() {
		in.Close()
		rest, _ := io.ReadAll(lines)
		if err := server.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, rest)
		}
	}()
	line, err := lines.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}

	first := connect(t, address, true)
	first.send(first.call("echo", 0, "before"))
	first.want(0, "before")
	var others []*peer
	for i := range int32(200) { // the backlog takes what the server cannot
		c, err := net.DialTimeout("tcp", address, patience)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		p := &peer{t, c, true}
		others = append(others, p)
		p.send(p.call("echo", i, "here"))
	}
	for i := range int32(100) {
		first.send(first.call("echo", i, "while there are no descriptors"))
		first.want(i, "while there are no descriptors")
	}
	// Each that goes makes room for one that waits, in the order of arrival.
	for i, p := range others {
		p.want(int32(i), "here")
		p.Close()
	}
	last := connect(t, address, true)
	last.send(last.call("echo", 1, "after"))
	last.want(1, "after")
	first.send(first.call("echo", 1, "after"))
	first.want(1, "after")
	first.Close()
	last.Close()
}
