package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTheDemoRestartsItsServersWithoutLosingACall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	stdin, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, stdin, stdout, 50*time.Millisecond)
		stdout.Close()
	}()
	lines := bufio.NewScanner(out)
	until := func(pattern string) []string {
		t.Helper()
		p := regexp.MustCompile(pattern)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "last failure") {
				t.Fatal(lines.Text())
			}
			if m := p.FindStringSubmatch(lines.Text()); m != nil {
				return m
			}
		}
		t.Fatalf("the demo ends without %q: %v", pattern, <-ended)
		return nil
	}
	address := until(`etcd +(\S+)`)[1]
	until("^Ctrl-C")
	reply, err := http.Post(address+"/v3/kv/range", "application/json",
		strings.NewReader(`{"key": "L3RocnVtL3NlcnZpY2VzLw==", "range_end": "L3RocnVtL3NlcnZpY2VzMA=="}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	if !strings.Contains(string(body), `"count":"3"`) {
		t.Errorf("etcd answers %s", body)
	}
	until(`^[1-9]\d* calls, 0 failed;(  \S+ \((north|south)\) [1-9]\d*){3}`)
	go io.WriteString(in, "\n")
	until("server 3 is now")
	until(`^\d+ calls, 0 failed;`)
	cancel()
	go io.Copy(io.Discard, out)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * patience):
		t.Error("the demo does not end")
	}
}
