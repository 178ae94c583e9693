package codec

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file is about types that start on the interpreter and go over to machine code.

// needsAuto skips where Auto makes no code: on other platforms, and under the race detector.
func needsAuto(t testing.TB) {
	t.Helper()
	needsMachineCode(t)
	if use := onAuto(t, reflect.TypeFor[lists]()).report().Encode; use.Declined != "" {
		t.Skip(use.Declined)
	}
}

func onAuto(t testing.TB, typ reflect.Type, opts ...Option) *compiled {
	t.Helper()
	cfg := newConfig(append([]Option{Deterministic()}, opts...))
	cfg.compiler = new(jit.Compiler)
	c, err := compile(typ, cfg, shared.pool)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// settled waits until nothing of c is pending.
func settled(t testing.TB, c *compiled) Report {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		if r := c.report(); !r.Encode.Pending && !r.Decode.Pending {
			return r
		}
		if time.Now().After(limit) {
			t.Fatalf("still undecided: %+v", c.report())
		}
	}
}

func TestATypeStartsOnTheInterpreterAndGoesOverToMachineCode(t *testing.T) {
	needsAuto(t)
	c := onAuto(t, reflect.TypeFor[lists]())
	v := filledLists(3)
	want, err := c.marshal(mem.Of(v))
	if err != nil {
		t.Fatal(err)
	}
	if r := c.report(); c.engine() != "interp" || !r.Encode.Pending || !r.Decode.Pending || r.Encode.CodeSize != 0 {
		t.Errorf("after the first use: %s, %+v", c.engine(), r)
	}
	for range 1000 {
		got, err := c.marshal(mem.Of(v))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("another encoding: %v", err)
		}
		var back lists
		if n, err := c.decoder.Decode(got, mem.Of(&back), nil); err != nil || n != len(got) || !reflect.DeepEqual(&back, v) {
			t.Fatalf("another value: %v", err)
		}
	}
	if r := settled(t, c); c.engine() != "jit" || r.Encode.Engine != "jit" || r.Encode.CodeSize == 0 || r.Decode.Engine != "jit" {
		t.Errorf("after many uses: %s, %+v", c.engine(), r)
	}
}

// What is only sized never needs code that encodes; what is only encoded, none that decodes.
func TestCodeIsMadeForTheDirectionThatIsUsed(t *testing.T) {
	needsAuto(t)
	c := onAuto(t, reflect.TypeFor[lists]())
	v := filledLists(3)
	for range 1000 {
		if _, err := c.encoder.Append(nil, mem.Of(v)); err != nil {
			t.Fatal(err)
		}
	}
	for limit := time.Now().Add(30 * time.Second); c.report().Encode.Pending; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatal("no code for encoding")
		}
	}
	if r := c.report(); !r.Decode.Pending || r.Decode.CodeSize != 0 {
		t.Errorf("code for decoding: %+v", r)
	}
}

func TestManyGoroutinesUseATypeWhileItsCodeIsMade(t *testing.T) {
	needsAuto(t)
	v := filledLists(7)
	for range 5 {
		c := onAuto(t, reflect.TypeFor[lists]())
		want, err := c.marshal(mem.Of(v))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					got, err := c.marshal(mem.Of(v))
					var back lists
					if err == nil {
						_, err = c.decoder.Decode(got, mem.Of(&back), nil)
					}
					if err != nil || !bytes.Equal(got, want) || !reflect.DeepEqual(&back, v) {
						t.Errorf("another result: %v", err)
						return
					}
				}
			})
		}
		for range 2 {
			wg.Go(c.prepare)
		}
		wg.Wait()
		if r := c.report(); r.Encode.Engine != "jit" || r.Decode.Engine != "jit" {
			t.Errorf("what was prepared is %+v", r)
		}
	}
}

func TestPretouchMakesCodeAhead(t *testing.T) {
	needsAuto(t)
	s := NewSet()
	if err := s.Pretouch(lists{}); err != nil {
		t.Fatal(err)
	}
	c, err := s.codec(reflect.TypeFor[lists]())
	if err != nil {
		t.Fatal(err)
	}
	if r := c.report(); r.Encode.Engine != "jit" || r.Decode.Engine != "jit" {
		t.Errorf("after Pretouch: %+v", r)
	}
}

func TestASetCountsWhatRuns(t *testing.T) {
	needsAuto(t)
	type flag struct {
		On bool `frugal:"1,default,bool"`
	}
	s := NewSet()
	if r := s.Report(); r.Types != 0 || r.Encode.Code != 0 || len(r.Encode.Declined) != 0 {
		t.Errorf("an empty set: %+v", r)
	}
	for _, v := range []any{filledLists(1), &flag{}} {
		if _, err := s.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Marshal(struct {
		C chan int `thrift:"c,1"`
	}{}); err == nil {
		t.Fatal("a channel is encoded")
	}
	r := s.Report()
	if r.Types != 2 || r.Encode.Pending != 1 || r.Encode.Code != 0 || r.Encode.Declined["too little to encode"] != 1 {
		t.Errorf("after a use of each: %+v", r)
	}
	if err := s.Pretouch(lists{}, flag{}); err != nil {
		t.Fatal(err)
	}
	r = s.Report()
	if r.Types != 2 || r.Encode.Pending != 0 || r.Encode.Code != 1 || r.Encode.CodeSize == 0 || r.Decode.Code != 1 || r.Decode.CodeSize == 0 || len(r.Decode.Declined) != 1 {
		t.Errorf("after Pretouch: %+v", r)
	}
	fixed := NewSet(Engine(Interp))
	if _, err := fixed.Marshal(&flag{}); err != nil {
		t.Fatal(err)
	}
	if r := fixed.Report(); r.Types != 1 || r.Encode.Interp != 1 || r.Encode.Declined != nil {
		t.Errorf("the interpreter by choice: %+v", r)
	}
}

func TestMachineCodeIsNotChosenUnderTheRaceDetector(t *testing.T) {
	needsMachineCode(t)
	use := onAuto(t, reflect.TypeFor[lists]()).report().Encode
	if use.Pending == strings.Contains(use.Declined, "race detector") {
		t.Errorf("%+v", use)
	}
}

// Linux 6.3 and newer let a program promise never to get executable memory,
// as services that are locked down do.
var lockedDown = flag.Bool("locked-down", false, "run as a program that gets no executable memory")

func TestWithoutExecutableMemoryTheInterpreterStays(t *testing.T) {
	needsMachineCode(t)
	if *lockedDown {
		runsLockedDown(t)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v", "-locked-down").CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this test, and the system cannot start its program by itself")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("SKIP")) {
		t.Skip(string(out))
	}
}

func runsLockedDown(t *testing.T) {
	if err := refuseExecutableMemory(); err != nil {
		t.Skip("the system cannot be locked down: ", err)
	}
	for _, k := range []EngineKind{Auto, JIT} {
		c := onAuto(t, reflect.TypeFor[lists](), Engine(k))
		c.prepare()
		r := c.report()
		if r.Encode.Engine != "interp" || r.Encode.Declined == "" || r.Decode.Engine != "interp" || r.Decode.Declined == "" {
			t.Errorf("%v: %+v", k, r)
		}
		v := filledLists(20)
		b, err := c.marshal(mem.Of(v))
		if err != nil {
			t.Fatal(err)
		}
		var back lists
		if _, err := c.decoder.Decode(b, mem.Of(&back), nil); err != nil || !reflect.DeepEqual(&back, v) {
			t.Errorf("%v: another value, %v", k, err)
		}
	}
}
