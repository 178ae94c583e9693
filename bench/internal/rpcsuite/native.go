package rpcsuite

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/thrum-rpc/thrum/bench/idl"
)

// This file builds the servers in C and C++, from the sources in native.

//go:embed native
var sources embed.FS

// native is a server that a compiler of C or C++ makes.
type native struct {
	source  string
	idl     bool   // it needs the code that Apache's compiler makes of the IDL
	include string // a header that only its libraries have; "" if it needs none
	command []string
	install string // what to install where something is missing, on Debian
}

var natives = map[string]native{
	"floor": {
		source: "floor.c", command: []string{"gcc", "-O2", "floor.c", "-o", "floor", "-lpthread"},
		install: "apt-get install gcc libc6-dev",
	},
	"tnonblocking": {
		source: "tnonblocking.cpp", idl: true, include: "thrift/server/TNonblockingServer.h",
		command: []string{"g++", "-O2", "-I.", "tnonblocking.cpp", "gen/Bench.cpp", "-o", "tnonblocking",
			"-lthriftnb", "-lthrift", "-levent", "-lpthread"},
		install: "apt-get install --no-install-recommends g++ libthrift-dev libevent-dev thrift-compiler",
	},
}

// errMissing says that a server cannot be built here.
type errMissing struct{ what, install string }

func (e errMissing) Error() string { return e.what + " is missing: " + e.install }

// build makes the server in a directory of its own below dir, and returns the
// file. The error is an errMissing if a tool or library is not there.
func (n native) build(dir, name string) (string, error) {
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "gen"), 0o755); err != nil {
		return "", err
	}
	text, err := sources.ReadFile("native/" + n.source)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, n.source), text, 0o644); err != nil {
		return "", err
	}
	if err := n.present(dir); err != nil {
		return "", err
	}
	if n.idl {
		if err := os.WriteFile(filepath.Join(dir, "rpc.thrift"), idl.RPC, 0o644); err != nil {
			return "", err
		}
		if err := command(dir, "thrift", "--gen", "cpp:no_skeleton", "-out", "gen", "rpc.thrift"); err != nil {
			return "", err
		}
	}
	if err := command(dir, n.command...); err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// present tells whether the tools and libraries are there.
func (n native) present(dir string) error {
	tools := []string{n.command[0]}
	if n.idl {
		tools = append(tools, "thrift")
	}
	for _, t := range tools {
		if _, err := exec.LookPath(t); errors.Is(err, exec.ErrNotFound) {
			return errMissing{t, n.install}
		}
	}
	if n.include == "" {
		return nil
	}
	probe := filepath.Join(dir, "probe.cpp")
	if err := os.WriteFile(probe, []byte("#include <"+n.include+">\n#include <event.h>\n"), 0o644); err != nil {
		return err
	}
	if command(dir, n.command[0], "-fsyntax-only", "probe.cpp") != nil {
		return errMissing{n.include + " or event.h", n.install}
	}
	return nil
}

// command runs a program in dir; an error says what it printed.
func command(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
