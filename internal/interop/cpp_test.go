package interop

// Building the C++ peer.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func cppPeer(t *testing.T) peer {
	t.Helper()
	need(t, "thrift", "install Debian's thrift-compiler")
	need(t, "g++", "install g++")
	if out, err := exec.CommandContext(t.Context(), "g++", "-E", "-include", "thrift/Thrift.h", "-o", os.DevNull, "-x", "c++", os.DevNull).CombinedOutput(); err != nil {
		missing(t, "thrift/Thrift.h", "install Debian's libthrift-dev, libboost-dev and libssl-dev: "+string(out))
	}
	if err := shared.cpp(); err != nil {
		t.Fatal(err)
	}
	return peer{name: "C++", command: []string{filepath.Join(shared.dir, "cpp", "peer")}, forwards: true}
}

func buildCPP(dir string) error {
	idl, err := writeCPPIDL(filepath.Join(dir, "idl"))
	if err != nil {
		return err
	}
	if err := generate("cpp:no_skeleton", idl, dir); err != nil {
		return err
	}
	return run(exec.Command("g++", "-std=c++17", "-O0", "-w", "-I", dir, "-o", filepath.Join(dir, "peer"),
		filepath.Join("cpp", "peer.cpp"), "-lthriftz", "-lthrift", "-lz"))
}

// writeCPPIDL writes the IDL in the form that the compiler's C++ needs, with
// the same bytes on the wire: a struct stands before what contains it, one that
// contains itself does so by reference, and no field of such a one is required.
func writeCPPIDL(dir string) (peerFile string, err error) {
	shop, err := os.ReadFile(shopIDL)
	if err != nil {
		return "", err
	}
	text := string(shop)
	begin := strings.Index(text, "struct Address {")
	if begin < 0 {
		return "", fmt.Errorf("%s has no Address", shopIDL)
	}
	length := strings.Index(text[begin:], "}\n") + len("}\n")
	address := text[begin : begin+length]
	changed := strings.NewReplacer(
		address, "",
		"union Delivery {", address+"union Delivery {",
		"optional Subject seeAlso", "optional Subject & seeAlso",
		"struct Subject {\n  1: required", "struct Subject {\n  1:",
	).Replace(text)

	common, err := os.ReadFile(filepath.Join(filepath.Dir(shopIDL), "common.thrift"))
	if err != nil {
		return "", err
	}
	top, err := os.ReadFile(peerIDL)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"shop.thrift":   changed,
		"common.thrift": string(common),
		"peer.thrift":   strings.ReplaceAll(string(top), filepath.ToSlash(filepath.Dir("../"+shopIDL))+"/", ""),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "peer.thrift"), nil
}
