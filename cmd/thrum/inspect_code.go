package main

import (
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/disasm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/amd64"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/arm64"
	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file is "thrum inspect --asm".

// processor makes code and reads it.
type processor struct {
	machine     func() asm.Machine
	disassemble func(code []byte) (string, error)
}

var processors = map[string]processor{
	"amd64": {func() asm.Machine { return amd64.New(amd64.Features{}) }, disasm.AMD64},
	"arm64": {func() asm.Machine { return arm64.New() }, disasm.ARM64},
}

// showCode writes the machine code of a struct's programs.
func (f *inspectFlags) showCode(w io.Writer, o inspect.Options, args int) error {
	if o.Struct == nil || args > 0 {
		return usageError("--asm needs --type or --method, and no file")
	}
	p, err := choose("asm", f.asm, processors)
	if err != nil {
		return err
	}
	var d compact.Dialect
	switch o.Format.Protocol {
	case inspect.Compact:
		d = compact.Apache
	case inspect.CompactFBThrift:
		d = compact.FBThrift
	}
	jobs := []plan.Job{plan.Encode, plan.Size, plan.Decode}
	if f.job != "" {
		job, err := choose("job", f.job, map[string]plan.Job{"encode": plan.Encode, "size": plan.Size, "decode": plan.Decode})
		if err != nil {
			return err
		}
		jobs = []plan.Job{job}
	}
	layout, slots := lower.Natural(o.Struct)
	for _, job := range jobs {
		of, make := job, jit.Code
		if job == plan.Size { // code that sizes is made of what encodes
			of, make = plan.Encode, jit.SizeCode
		}
		prog, err := lower.Struct(of, layout, slots)
		if err != nil {
			return err
		}
		code, err := make(p.machine(), prog, d)
		if err != nil {
			fmt.Fprintf(w, "%s: no machine code: %v\n", job, err)
			continue
		}
		text, err := p.disassemble(code)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s, %d bytes of %s:\n%s", job, len(code), f.asm, text)
	}
	return nil
}
