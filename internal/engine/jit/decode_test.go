package jit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/disasm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/amd64"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/arm64"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the goldens")

// sampleDecode reads a struct with a field of each kind: what code reads, notes
// and leaves.
func sampleDecode() *plan.Program {
	const h = plan.Header
	p := &plan.Program{Job: plan.Decode, Slots: 1, Procs: []*plan.Proc{
		{Name: "Sample", Memory: 128, Unknown: -1, Init: -1, Ops: []plan.Op{
			{Code: plan.I64, Flags: h | plan.Required, Wire: thriftwire.I64, ID: 1, Off: 0, Slot: -1, Name: "long"},
			{Code: plan.Bool, Flags: h, Wire: thriftwire.Bool, ID: 2, Off: 8, Slot: -1, Name: "flag"},
			{Code: plan.String, Flags: h, Wire: thriftwire.String, ID: 3, Off: 16, Slot: -1, Name: "text"},
			{Code: plan.Enum64, Flags: h, Wire: thriftwire.I32, ID: 4, Off: 32, Slot: -1, Name: "kind"},
			{Code: plan.Double, Flags: h | plan.Deref, Wire: thriftwire.Double, ID: 5, Off: 40, Slot: -1, Name: "maybe"},
			{Code: plan.UUID, Flags: h, Wire: thriftwire.UUID, ID: 6, Off: 48, Slot: -1, Name: "id"},
			{Code: plan.List, Flags: h | plan.PointerFree, Wire: thriftwire.List, ID: 7, Off: 64, Size: 4, A: 1, Slot: -1, Name: "numbers"},
			{Code: plan.Pointer, Flags: h, Wire: thriftwire.Struct, ID: 8, Off: 88, A: 0, Slot: 0, Name: "inner"},
			{Code: plan.Binary, Flags: h | plan.Alias, Wire: thriftwire.String, ID: 9, Off: 96, Slot: -1, Name: "direct"},
		}},
		{Memory: 4, Unknown: -1, Init: -1, Ops: []plan.Op{{Code: plan.I32, Wire: thriftwire.I32, Slot: -1}}},
	}}
	p.Link()
	return p
}

// rowDecode reads a list of structs that code reads in a row.
func rowDecode() *plan.Program {
	const h = plan.Header
	p := &plan.Program{Job: plan.Decode, Slots: 2, Procs: []*plan.Proc{
		{Name: "Rows", Memory: 24, Unknown: -1, Init: -1, Ops: []plan.Op{
			{Code: plan.List, Flags: h, Wire: thriftwire.List, ID: 1, Off: 0, Size: 8, A: 1, Slot: 0, Name: "rows"},
		}},
		{Memory: 8, Unknown: -1, Init: -1, Ops: []plan.Op{{Code: plan.Pointer, Wire: thriftwire.Struct, A: 2, Slot: 1}}},
		{Name: "Row", Memory: 32, Unknown: -1, Init: -1, Ops: []plan.Op{
			{Code: plan.I32, Flags: h | plan.Required, Wire: thriftwire.I32, ID: 1, Off: 0, Slot: -1, Name: "number"},
			{Code: plan.String, Flags: h, Wire: thriftwire.String, ID: 2, Off: 8, Slot: -1, Name: "text"},
			{Code: plan.I64, Flags: h | plan.Deref, Wire: thriftwire.I64, ID: 3, Off: 24, Slot: -1, Name: "maybe"},
		}},
	}}
	p.Link()
	return p
}

func TestDecodeCodeIsAsInTheGoldens(t *testing.T) {
	if plan.String.Memory() != 16 {
		t.Skip("the goldens hold the offsets of a 64-bit machine")
	}
	for name, c := range map[string]struct {
		prog    *plan.Program
		dialect compact.Dialect
		made    int // the procedure that code is made for
	}{"": {sampleDecode(), 0, 0}, "-compact": {sampleDecode(), compact.Apache, 0}, "-row": {rowDecode(), 0, 2}} {
		if err := c.prog.Verify(); err != nil {
			t.Fatal(err)
		}
		for arch, isa := range map[string]struct {
			machine asm.Machine
			read    func([]byte) (string, error)
		}{"amd64": {amd64.New(amd64.Features{}), disasm.AMD64}, "arm64": {arm64.New(), disasm.ARM64}} {
			made := decodeProgram(isa.machine, c.prog, engine.DecodeOptions{MaxContainer: 1000, Compact: c.dialect}, 1)
			for i, p := range made.procs {
				if (p != nil) != (i == c.made) {
					t.Fatal("code is made for the wrong procedures")
				}
			}
			code, err := isa.machine.Finish()
			if err != nil {
				t.Fatal(err)
			}
			got, err := isa.read(code)
			if err != nil {
				t.Fatalf("%v, after\n%s", err, got)
			}
			golden(t, "decode-"+arch+name+".txt", got)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
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
		t.Errorf("%s: got\n%s", file, got)
	}
}

func TestWhatDoesNotPayIsLeftToTheInterpreter(t *testing.T) {
	prog, o := sampleDecode(), engine.DecodeOptions{MaxContainer: 1000}
	prog.Procs[0].Ops[6].Flags &^= plan.PointerFree // lists of numbers are code's in any case
	if decodeProgram(amd64.New(amd64.Features{}), prog, o, 7) != nil {
		t.Error("code is made though 6 numbers and texts stand in a row at most")
	}
	made := decodeProgram(amd64.New(amd64.Features{}), prog, o, 5)
	if made == nil || !made.procs[0].worth[0] || made.procs[0].worth[1] {
		t.Error("code is not entered where 5 of them stand in a row, or is where they do not")
	}
	if made := decodeProgram(amd64.New(amd64.Features{}), rowDecode(), o, 5); made == nil || !made.procs[2].row || made.procs[2].worth[0] {
		t.Error("a struct of three fields is read in a row or not at all")
	}
	withDefaults := rowDecode()
	withDefaults.Procs[2].Init = 1
	if decodeProgram(amd64.New(amd64.Features{}), withDefaults, o, 5) != nil {
		t.Error("structs whose defaults Go sets are read in a row")
	}
	prog.Procs[0].Union = true
	if o.CheckUnion = true; decodeProgram(amd64.New(amd64.Features{}), prog, o, 1) != nil {
		t.Error("code is made for a union whose fields are counted")
	}
}

// Code cannot be preempted, so that one entry is bounded by the window that it
// is given, however many fields stand there.
func TestAnEntryReadsAWindowAtMost(t *testing.T) {
	needsMachine(t)
	m, prog := newMachine(), sampleDecode()
	b := bytes.Repeat([]byte{byte(thriftwire.Bool), 0, 2, 1}, 100_000)
	b = append(b, byte(thriftwire.I64), 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0)
	o := engine.DecodeOptions{MaxContainer: 1000, MaxBytes: len(b), MaxDepth: 10, Pool: engine.NewPool(0)}
	made := decodeProgram(m, prog, o, 1)
	text, err := m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	code, err := execmem.New(text)
	if err != nil {
		t.Fatal(err)
	}
	assist := made.procs[0].assist(m, code)
	run, entries := assist.Run, 0
	assist.Run = func(op int, w *interp.Window, base, in mem.Pointer) bool {
		entries++
		done := run(op, w, base, in)
		if w.State[interp.Length] > interp.MaxWindow || w.State[interp.Taken] > w.State[interp.Length] {
			t.Errorf("an entry has read %d bytes of %d", w.State[interp.Taken], w.State[interp.Length])
		}
		return done
	}
	d, err := interp.Engine{}.Assisted(prog, &engine.Binding{Slots: make([]engine.Slot, 1)}, o, []*interp.Assist{assist, nil}, interp.Bulk{})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]uint64, 16) // the struct's memory; no field of it that is read here is a pointer
	if n, err := d.Decode(b, mem.Data(v), nil); err != nil || n != len(b) || v[0] != 7 || v[1] != 1 {
		t.Fatalf("read %d of %d bytes: %v, %v", n, len(b), v[:2], err)
	}
	if least := len(b) / interp.MaxWindow; entries < least || entries > 2*least {
		t.Errorf("%d entries for %d windows", entries, least)
	}
}
