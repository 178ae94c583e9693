package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// This file is "thrum demo --etcd". What it shows needs etcd, on which this
// module does not depend; so it builds and runs the program of contrib/etcd, where that stands.

// etcdDemoTime is how long that program may take to end after Ctrl-C.
const etcdDemoTime = 40 * time.Second

// demoEtcd runs the demo of contrib/etcd until it ends or the user stops it.
func demoEtcd(env *environment) error {
	dir, err := etcdModule()
	if err != nil {
		return err
	}
	tools, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("demo --etcd needs the go command to build %s: %w", filepath.Join(dir, "demo"), err)
	}
	scratch, err := os.MkdirTemp("", "thrum-demo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	program := filepath.Join(scratch, "demo")
	fmt.Fprintln(env.stderr, "building the demo with etcd, which takes a while the first time")
	build := exec.CommandContext(env.ctx, tools, "build", "-o", program, "./demo")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	build.Stdout, build.Stderr = env.stderr, env.stderr
	if err := build.Run(); err != nil {
		if env.ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("demo --etcd: building %s: %w", filepath.Join(dir, "demo"), err)
	}
	demo := exec.CommandContext(env.ctx, program)
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	demo.WaitDelay = etcdDemoTime
	demo.Stdin, demo.Stdout, demo.Stderr = env.stdin, env.stdout, env.stderr
	if err := demo.Run(); err != nil && env.ctx.Err() == nil {
		return fmt.Errorf("demo --etcd: %w", err)
	}
	return nil
}

// errNoCheckout says where "thrum demo --etcd" runs.
var errNoCheckout = errors.New(`demo --etcd runs a program of the repository's module contrib/etcd, which is not here; try
  git clone https://github.com/thrum-rpc/thrum && cd thrum && go run ./cmd/thrum demo --etcd`)

// etcdModule returns the directory of contrib/etcd in the checkout that the
// working directory belongs to.
func etcdModule() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(at, "contrib", "etcd")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(at) == at {
			return "", errNoCheckout
		}
		at = filepath.Dir(at)
	}
}
