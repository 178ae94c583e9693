package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/thrum-rpc/thrum/transcode"
)

const shopIDL = "../../examples/shop/shop.thrift"

// convertArgs makes a command line for values of the bookshop.
func convertArgs(from, to, typ string, more ...string) []string {
	return append([]string{"convert", "--from", from, "--to", to, "--idl", shopIDL, "--type", typ}, more...)
}

const addresses = `{"lines":["12 St James's Square"],"country":"GB"}
{"lines":["-"],"country":"DE"}
{"lines":["a","b","c"],"country":"IT"}
`

// protoIDL writes a .proto file and returns its path.
func protoIDL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.proto")
	text := `syntax = "proto3"; package shop; message Address { repeated string lines = 1; string country = 2; }`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConvertGoesFromAndToEveryFormat(t *testing.T) {
	proto := protoIDL(t)
	convert := func(in, from, to string) string {
		t.Helper()
		args := convertArgs(from, to, "Address")
		switch a, b := strings.HasPrefix(from, "protobuf"), strings.HasPrefix(to, "protobuf"); {
		case a != b && !strings.HasPrefix(from+to, "json") && !strings.HasPrefix(to, "json"):
			args = append(args, "--proto", proto)
		case a || b:
			args[6] = proto
		}
		code, out, stderr := thrum(in, args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s to %s: exit code %d, %s", from, to, code, stderr)
		}
		return out
	}
	one := addresses[:strings.Index(addresses, "\n")+1]
	for _, f := range formatNames[:flatbuffersFormat] {
		for _, g := range formatNames[:flatbuffersFormat] {
			in := addresses
			if f == "protobuf" || g == "protobuf" {
				in = one
			}
			encoded := convert(in, "json", f)
			if got, want := convert(encoded, f, g), convert(in, "json", g); got != want {
				t.Errorf("%s to %s: %q, want %q", f, g, got, want)
			}
			if back := convert(encoded, f, "json"); back != in {
				t.Errorf("json became %q as %s, and then %q", encoded, f, back)
			}
		}
	}
	if got := convert("", "json", "json-array"); got != "[]\n" {
		t.Errorf("nothing became the array %q", got)
	}
}

func TestConvertPairsFieldsByNumberOrName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.proto")
	text := `syntax = "proto3"; message Place { string country = 1; repeated string lines = 2; }`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := mustConvert(t, `{"lines":["a"],"country":"GB"}`, "json", "compact")
	args := convertArgs("compact", "protobuf", "Address", "--proto", path, "--message", "Place")
	if code, out, stderr := thrum(in, append(args, "--pair-by-name")...); code != exitOK || out != "\x12\x01a\x0a\x02GB" {
		t.Errorf("by name: %d %q %s", code, out, stderr)
	}
	if code, _, stderr := thrum(in, args...); code != exitFailed || !strings.Contains(stderr, "unsupported") {
		t.Errorf("by number, where types differ: %d %s", code, stderr)
	}
}

func TestConvertReplacesFilesOnlyWithWholeOnes(t *testing.T) {
	dir := t.TempDir()
	in, out, link := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.bin"), filepath.Join(dir, "link")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	convert := func(want int, to string) string {
		t.Helper()
		args := []string{"convert", in, to, "--to", "binary-framed", "--idl", shopIDL, "--type", "Address"}
		_, stderr := expect(t, want, args...)
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if strings.HasSuffix(e.Name(), ".part") {
				t.Errorf("%s is left", e.Name())
			}
		}
		return stderr
	}
	write(in, addresses, 0o600)
	convert(exitOK, out)
	whole, _ := os.ReadFile(out)
	if _, want, _ := thrum(addresses, convertArgs("json", "binary-framed", "Address")...); string(whole) != want {
		t.Errorf("the file holds %q, standard output %q", whole, want)
	}
	write(in, addresses+`{"lines":7}`, 0o600)
	if err := os.Chmod(out, 0o640); err != nil {
		t.Fatal(err)
	}
	if stderr := convert(exitFailed, out); !strings.Contains(stderr, "[3].lines (offset 129)") {
		t.Errorf("the fault has no place: %s", stderr)
	}
	if now, _ := os.ReadFile(out); !bytes.Equal(now, whole) {
		t.Errorf("a conversion that failed changed the file to %q", now)
	}
	write(in, "{}\n", 0o600)
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	args := []string{"convert", in, link, "--to", "binary", "--allow-missing", "--idl", shopIDL, "--type", "Address"}
	expect(t, exitOK, args...)
	info, err := os.Lstat(link)
	now, _ := os.ReadFile(out)
	mode, _ := os.Stat(out)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || string(now) != "\x00" || mode.Mode().Perm() != 0o640 {
		t.Errorf("a link was not followed, or the mode is lost: %v, %q, %v, %v", info, now, mode.Mode(), err)
	}
	convert(exitFailed, dir)
}

func TestAnOutputThatCannotBeMadeHasTheNameThatTheUserGave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "out.json")
	if _, err := createOutput(nil, []string{path}); err == nil || !strings.HasPrefix(err.Error(), "open "+path+": ") {
		t.Errorf("got %v", err)
	}
}

func TestConvertSaysWhereAFaultStands(t *testing.T) {
	frames := func(parts ...string) string {
		var b strings.Builder
		for _, p := range parts {
			fmt.Fprintf(&b, "\x00\x00\x00%c%s", len(p), p)
		}
		return b.String()
	}
	one := "\x19\x08\x01a\x18\x02DE\x00" // compact: lines ["a"], country "DE"
	proto := protoIDL(t)
	for _, c := range []struct {
		from, to, in, want string
		code               int
	}{
		{"json", "binary", `{"lines":[],"country":"DE"} {"lines":[1]}`, "at [1].lines[0] (offset 38)", exitFailed},
		{"json", "compact", `{"lines":[],"country":"DE"} {"lines":[1]}`, "at [1].lines[0] (offset 38)", exitFailed},
		{"json", "compact", `[{"lines":[],"country":"DE"} {}]`, "at [1] (offset 29)", exitFailed},
		{"json", "compact", `[{"lines":[],"country":"DE"},]`, "(offset 29)", exitFailed},
		{"json", "compact", `[{"lines":[],"country":"DE"}`, "(offset 28)", exitFailed},
		{"json", "compact", `{"lines":[`, "at [0].lines[0] (offset 10)", exitFailed},
		{"json", "compact", `]`, "(offset 0)", exitFailed},
		{"binary", "json", "\x0f\x00\x01\x0b\x00\x00\x00\x00\x0b\x00\x02\x00\x00\x00\x01X\x00\x0f\x00\x01\x0b", "at [1].lines (offset 20)", exitFailed},
		{"compact-framed", "json", frames(one, one[:4]), "at [1] (offset 21)", exitFailed},
		{"compact-framed", "json", frames(one, one+"x"), "(offset 26)", exitFailed},
		{"compact-framed", "json", frames(one) + "\x00\x00", "at [1] (offset 13)", exitFailed},
		{"compact-framed", "json", frames(one) + "\x00\x00\x00\x00", "at [1] (offset 13)", exitFailed},
		{"compact-framed", "binary", frames(one, one)[:20], "at [1]", exitFailed},
		{"compact", "binary", one + one[:6], "at [1] (offset 14)", exitFailed},
		{"compact", "json", one + "\x28\x01\xff\x00", "at [1].country", exitFailed},
		{"protobuf-delimited", "json", "\x02\x12\x00\x02\x12\x05", "at [1]", exitFailed},
		{"protobuf-delimited", "json", "\x02\x12\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "at [1] (offset 3)", exitFailed},
		{"json", "protobuf", addresses, "protobuf-delimited holds more", exitFailed},
	} {
		args := convertArgs(c.from, c.to, "Address", "--allow-missing")
		if strings.HasPrefix(c.from, "protobuf") || c.to == "protobuf" {
			args[6] = proto
		}
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			var out, stderr bytes.Buffer
			if code := run(context.Background(), args, r, &out, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("%q from %s to %s: exit code %d, %s; want %s", c.in, c.from, c.to, code, stderr.String(), c.want)
			}
		}
	}
}

func TestConvertRefusesValuesThatAreTooLarge(t *testing.T) {
	long := `{"lines":["` + strings.Repeat("x", 5000) + `"],"country":"DE"}`
	for from, in := range map[string]string{"json": long, "compact": mustConvert(t, long, "json", "compact"), "binary-framed": mustConvert(t, long, "json", "binary-framed")} {
		code, _, stderr := thrum(in, convertArgs(from, "compact", "Address", "--max-size", "1000")...)
		if code != exitFailed || !strings.Contains(stderr, "1000") || !strings.Contains(stderr, "[size-limit]") {
			t.Errorf("%s: %d %s", from, code, stderr)
		}
	}
	code, _, stderr := thrum(long, convertArgs("json", "binary", "Address", "--max-size", "1000")...)
	if code != exitFailed || !strings.Contains(stderr, "hint: --max-size") {
		t.Errorf("to a pipe: %d %s", code, stderr)
	}
	out := filepath.Join(t.TempDir(), "out.bin")
	expect(t, exitOK, "convert", writeFile(t, long), out, "--from", "json", "--to", "binary", "--idl", shopIDL, "--type", "Address", "--max-size", "1000")
	if b, err := os.ReadFile(out); err != nil || string(b) != mustConvert(t, long, "json", "binary") {
		t.Errorf("to a file: %d bytes, %v", len(b), err)
	}
}

func mustConvert(t *testing.T, in, from, to string) string {
	t.Helper()
	code, out, stderr := thrum(in, convertArgs(from, to, "Address")...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	return out
}

func TestConvertOptionsReachTheConverter(t *testing.T) {
	in := `{"id":"7","customer":"Ada","unknown":1}`
	if code, _, _ := thrum(in, convertArgs("json", "binary", "Order")...); code != exitFailed {
		t.Errorf("a string where an i64 is due: exit code %d", code)
	}
	code, binary, stderr := thrum(in, convertArgs("json", "binary", "Order", "--number-strings")...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	if _, out, _ := thrum(binary, convertArgs("binary", "json", "Order", "--int64-strings", "--write-defaults", "--enum-numbers")...); !strings.Contains(out, `"id":"7"`) || !strings.Contains(out, `"state":0`) {
		t.Errorf("got %s", out)
	}
	if code, _, stderr := thrum(in, convertArgs("json", "binary", "Order", "--number-strings", "--reject-unknown")...); code != exitFailed || !strings.Contains(stderr, "unknown-field") {
		t.Errorf("an unknown field: %d %s", code, stderr)
	}
}

func TestConvertStopsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, to := range []string{"binary", "compact"} {
		var out, stderr bytes.Buffer
		if code := run(ctx, convertArgs("json", to, "Address"), strings.NewReader(addresses), &out, &stderr); code != exitFailed || stderr.String() != "thrum convert: interrupted\n" {
			t.Errorf("to %s: %d %s", to, code, stderr.String())
		}
	}
}

func TestProgressShowsBytesRateShareAndValues(t *testing.T) {
	now := time.Unix(0, 0)
	var b bytes.Buffer
	p := &progress{statusLine: statusLine{w: &b}, now: func() time.Time { return now }}
	p.begin(4_000_000)
	r := p.reader(&nothing{})
	for range 10 {
		now = now.Add(250 * time.Millisecond)
		if _, err := r.Read(make([]byte, 250_000)); err != nil {
			t.Fatal(err)
		}
		p.report(transcode.Stats{Values: p.read / 10})
	}
	p.finish(transcode.Stats{Values: 1})
	want := "1.0 MB of 4.0 MB (25%), 1.0 MB/s, 100000 values\n2.0 MB of 4.0 MB (50%), 1.0 MB/s, 200000 values\n2.5 MB of 4.0 MB (62%), 1.0 MB/s, 1 value\n"
	if b.String() != want {
		t.Errorf("got\n%s, want\n%s", b.String(), want)
	}
	b.Reset()
	p = &progress{statusLine: statusLine{w: &b, terminal: true}, now: func() time.Time { return now }}
	p.begin(0)
	p.report(transcode.Stats{})
	now = now.Add(2 * time.Second)
	p.report(transcode.Stats{Values: 2})
	p.finish(transcode.Stats{Values: 3})
	if want := "\r\x1b[K0 B, 0 B/s, 2 values\r\x1b[K0 B, 0 B/s, 3 values\n"; b.String() != want {
		t.Errorf("on a terminal: %q, want %q", b.String(), want)
	}
	b.Reset()
	p.begin(0)
	p.shown = false
	p.report(transcode.Stats{})
	if p.finish(transcode.Stats{}); b.Len() > 0 {
		t.Errorf("a short conversion shows %q", b.String())
	}
}

type nothing struct{}

func (nothing) Read(b []byte) (int, error) { return len(b), nil }
