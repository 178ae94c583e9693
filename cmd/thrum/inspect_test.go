package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// transcript runs command lines, each with its standard input, and returns
// what a terminal would show.
func transcript(t *testing.T, lines ...[]string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		code, stdout, stderr := thrum(line[0], line[1:]...)
		fmt.Fprintf(&b, "$ thrum %s\n%s%s", strings.Join(line[1:], " "), stdout, stderr)
		if code != exitOK {
			fmt.Fprintf(&b, "(exit code %d)\n", code)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestInspectShowsMessages(t *testing.T) {
	atRoot(t)
	draft := thriftOf(t, "Draft", `{"lines":[{"book":1,"quantity":2}],"delivery":{"email":"ada@example.org"}}`)
	text := hex.EncodeToString([]byte(draft))
	call := "800100010000000673656172636800000007" + "0c00010b00010000000a696e7669736962696c690000"
	idl := []string{"--idl", "examples/shop/shop.thrift"}
	line := func(stdin string, args ...string) []string { return append([]string{stdin, "inspect"}, args...) }
	golden(t, "inspect.golden", transcript(t,
		line(text, append(idl, "--hex", "--type", "Draft")...),
		line(text, "--hex"),
		line("0x"+text[:60], append(idl, "--hex", "--type", "Draft")...),
		line(call, append(idl, "--hex")...),
		line(call, "--hex", "--format", "compact"),
		line("0a0001000000000000000a00", append(idl, "--hex", "--method", "Shop.getOrder")...),
		line("0a0001000000000000000a00", append(idl, "--hex", "--method", "Shop.getOrder", "--result")...),
		line("0a0f0a07416461010203ff1204", "--hex", "--format", "protobuf"),
		line("zz", "--hex"),
		line("zz?", "--base64"),
		line("", "--hex", "--base64"),
		line("", "--format", "xml"),
		line("", "--type", "Draft"),
		line("", append(idl, "--type", "Drfat")...),
		line("", append(idl, "--method", "Shop.getOrdr")...),
		line("", append(idl, "--hex", "cmd/thrum/testdata/search.hex")...),
		line("", "nothing.bin"),
	))
	plain, _ := expect(t, exitOK, "inspect", writeFile(t, draft))
	if code, again, _ := thrum(base64.StdEncoding.EncodeToString([]byte(draft)), "inspect", "--base64"); code != exitOK || again != plain {
		t.Errorf("base64: %d %s", code, again)
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("colours where nobody looks: %q", plain)
	}
	if colors, _ := expect(t, exitOK, "inspect", "--color", "always", writeFile(t, draft)); !strings.Contains(colors, "\x1b[") {
		t.Errorf("no colours: %q", colors)
	}
}

func TestInspectShowsPrograms(t *testing.T) {
	atRoot(t)
	args := []string{"inspect", "--plan", "--idl", "examples/shop/shop.thrift", "--type", "Line"}
	all, _ := expect(t, exitOK, args...)
	if ^uint(0)>>63 == 1 { // the golden holds the offsets of a 64-bit machine
		golden(t, "plan.golden", all)
	}
	if one, _ := expect(t, exitOK, append(args, "--job", "size")...); one == all || !strings.Contains(all, one) {
		t.Errorf("one job is no part of all: %s", one)
	}
	expect(t, exitUsage, append(args, "--job", "nothing")...)
	expect(t, exitUsage, append(args, "a file")...)
	expect(t, exitUsage, args[:4]...)
}

func TestInspectShowsMachineCode(t *testing.T) {
	atRoot(t)
	args := []string{"inspect", "--idl", "examples/shop/shop.thrift", "--type", "Line", "--asm"}
	for _, processor := range []string{"amd64", "arm64"} {
		text, _ := expect(t, exitOK, append(args, processor)...)
		if !strings.HasPrefix(text, "encode, ") || !strings.Contains(text, " bytes of "+processor+":\n    0  ") || !strings.Contains(text, "  ret") {
			t.Errorf("%s: %s", processor, text)
		}
		if compact, _ := expect(t, exitOK, append(args, processor, "--format", "compact", "--job", "encode")...); compact == text {
			t.Errorf("%s: both protocols have the same code", processor)
		}
	}
	if text, _ := expect(t, exitOK, append(args, "amd64", "--job", "size")...); text != "size: no machine code: the interpreter sizes it as fast\n" {
		t.Errorf("%s", text)
	}
	book := []string{"inspect", "--idl", "examples/shop/shop.thrift", "--type", "Book", "--asm"}
	for _, processor := range []string{"amd64", "arm64"} {
		if text, _ := expect(t, exitOK, append(book, processor, "--job", "size")...); !strings.HasPrefix(text, "size, ") || !strings.Contains(text, "  ret") {
			t.Errorf("%s: %s", processor, text)
		}
	}
	expect(t, exitUsage, append(args, "z80")...)
	expect(t, exitUsage, append(args, "amd64", "a file")...)
	expect(t, exitUsage, "inspect", "--idl", "examples/shop/shop.thrift", "--asm", "amd64")
}

func TestInspectShowsProtobuf(t *testing.T) {
	idl := []string{"--idl", protoIDL(t), "--type", "Address", "--hex"}
	show := func(stdin string, args ...string) (int, string) {
		code, stdout, stderr := thrum(stdin, append([]string{"inspect"}, append(idl, args...)...)...)
		return code, stdout + stderr
	}
	code, text := show("0a02616212024742")
	if want := "Protobuf, 8 bytes\n0  message Address\n0    1: string lines[] = \"ab\"\n4    2: string country = \"GB\"\n"; code != exitOK || text != want {
		t.Errorf("%d %s", code, text)
	}
	if code, text := show("02 0a00 02 1200", "--framed", "varint"); code != exitOK || strings.Count(text, "message Address of 2 bytes") != 2 {
		t.Errorf("delimited: %d %s", code, text)
	}
	for _, args := range [][]string{{"--format", "binary"}, {"--plan"}, {"--type", "", "--method", "Shop.get"}} {
		if code, text := show("", args...); code != exitUsage || !strings.Contains(text, "--type") {
			t.Errorf("%q: %d %s", args, code, text)
		}
	}
}

// thriftOf converts JSON to the binary protocol.
func thriftOf(t *testing.T, typ, json string) string {
	t.Helper()
	code, out, stderr := thrum(json, "convert", "--from", "json", "--to", "binary", "--idl", "examples/shop/shop.thrift", "--type", typ)
	if code != exitOK {
		t.Fatal(stderr)
	}
	return out
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
