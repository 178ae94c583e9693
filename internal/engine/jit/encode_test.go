package jit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/disasm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/amd64"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/arm64"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// sampleEncode writes a struct with a field of each kind: numbers in a row, a text, what may
// be absent, lists, and itself.
func sampleEncode() *plan.Program {
	const h = plan.Header
	p := &plan.Program{Job: plan.Encode, Procs: []*plan.Proc{
		{Name: "Sample", Memory: 136, Unknown: -1, Init: -1, Ops: []plan.Op{
			{Code: plan.I64, Flags: h, Wire: thriftwire.I64, ID: 1, Off: 0, Slot: -1, Name: "long"},
			{Code: plan.Bool, Flags: h, Wire: thriftwire.Bool, ID: 2, Off: 8, Slot: -1, Name: "flag"},
			{Code: plan.String, Flags: h, Wire: thriftwire.String, ID: 3, Off: 16, Slot: -1, Name: "text"},
			{Code: plan.Double, Flags: h | plan.Deref, Wire: thriftwire.Double, ID: 4, Off: 32, Slot: -1, Name: "maybe"},
			{Code: plan.List, Flags: h, Wire: thriftwire.List, ID: 5, Off: 40, Size: 4, A: 1, Slot: -1, Name: "numbers"},
			{Code: plan.List, Flags: h | plan.Optional, Wire: thriftwire.List, ID: 6, Off: 64, Size: 8, A: 2, Slot: -1, Name: "kids"},
			{Code: plan.Map, Flags: h, Wire: thriftwire.Map, ID: 7, Off: 88, A: 1, B: 1, Slot: -1, Name: "map"},
			{Code: plan.Struct, Flags: h, Wire: thriftwire.Struct, ID: 8, Off: 96, A: 3, Slot: -1, Name: "inner"},
		}},
		{Memory: 4, Unknown: -1, Init: -1, Ops: []plan.Op{{Code: plan.I32, Wire: thriftwire.I32, Slot: -1}}},
		{Memory: 8, Unknown: -1, Init: -1, Ops: []plan.Op{{Code: plan.Pointer, Wire: thriftwire.Struct, A: 3, Slot: -1}}},
		{Name: "Inner", Memory: 40, Unknown: -1, Init: -1, Ops: []plan.Op{
			{Code: plan.Enum64, Flags: h, Wire: thriftwire.I32, ID: 1, Off: 0, Slot: -1, Name: "kind"},
			{Code: plan.Pointer, Flags: h | plan.Optional, Wire: thriftwire.Struct, ID: 2, Off: 8, A: 3, Slot: -1, Name: "next"},
		}},
	}}
	p.Link()
	return p
}

func TestEncodeCodeIsAsInTheGoldens(t *testing.T) {
	if plan.String.Memory() != 16 {
		t.Skip("the goldens hold the offsets of a 64-bit machine")
	}
	prog := sampleEncode()
	if err := prog.Verify(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		make    func(asm.Machine, *plan.Program, compact.Dialect) ([]byte, error)
		machine asm.Machine
		read    func([]byte) (string, error)
		dialect compact.Dialect
	}{
		"encode-amd64":         {Code, amd64.New(amd64.Features{}), disasm.AMD64, 0},
		"encode-arm64":         {Code, arm64.New(), disasm.ARM64, 0},
		"encode-amd64-compact": {Code, amd64.New(amd64.Features{PDEP: true}), disasm.AMD64, compact.Apache},
		"size-amd64":           {SizeCode, amd64.New(amd64.Features{}), disasm.AMD64, 0},
		"size-arm64":           {SizeCode, arm64.New(), disasm.ARM64, 0},
		"size-amd64-compact":   {SizeCode, amd64.New(amd64.Features{}), disasm.AMD64, compact.Apache},
	} {
		code, err := c.make(c.machine, prog, c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.read(code)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, got)
		}
		file := filepath.Join("testdata", name+".txt")
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != got {
			t.Errorf("%s differs; with -rewrite it is written anew", file)
		}
	}
}

func TestEncodeCodeIsDeclinedForOptionsThatTheInterpreterHas(t *testing.T) {
	needsMachine(t)
	set := sampleEncode()
	set.Procs[0].Ops[4].Flags |= plan.Unique
	union := sampleEncode()
	union.Procs[3].Union = true
	for name, c := range map[string]struct {
		prog *plan.Program
		opts engine.EncodeOptions
		want string
	}{
		"plain":           {sampleEncode(), engine.EncodeOptions{CheckSet: true, CheckUnion: true, Sorted: true}, ""},
		"a checked set":   {set, engine.EncodeOptions{CheckSet: true}, "sets are checked"},
		"a set":           {set, engine.EncodeOptions{}, ""},
		"a checked union": {union, engine.EncodeOptions{CheckUnion: true}, "unions are checked"},
		"a union":         {union, engine.EncodeOptions{}, ""},
	} {
		if got := declined(c.prog, c.opts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
