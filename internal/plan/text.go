package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the text form, which people read (thrum inspect --plan) and
// goldens keep:
//
//	encode slots=2
//	default 0 "USD"
//	proc 0 Item memory=40 base=0 unknown=-1 init=-1
//	  i64 wire=i64 id=1 off=0 header name="id"
//	  list wire=list id=2 off=16 size=8 a=1 slot=0 header optional name="tags"
//
// Fields that are zero (slot: -1) are left out.

// Format returns p's text form.
func Format(p *Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s slots=%d\n", p.Job, p.Slots)
	for i, d := range p.Defaults {
		fmt.Fprintf(&b, "default %d %q\n", i, d)
	}
	for i, proc := range p.Procs {
		name := proc.Name
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(&b, "proc %d %s memory=%d base=%d unknown=%d init=%d", i, name, proc.Memory, proc.Base, proc.Unknown, proc.Init)
		if proc.Union {
			b.WriteString(" union")
		}
		b.WriteByte('\n')
		for j := range proc.Ops {
			formatOp(&b, &proc.Ops[j])
		}
	}
	return b.String()
}

func formatOp(b *strings.Builder, op *Op) {
	fmt.Fprintf(b, "  %s wire=%s", op.Code, op.Wire)
	num := func(name string, v, zero int64) {
		if v != zero {
			fmt.Fprintf(b, " %s=%d", name, v)
		}
	}
	num("id", int64(op.ID), 0)
	num("off", int64(op.Off), 0)
	num("size", int64(op.Size), 0)
	num("a", int64(op.A), 0)
	num("b", int64(op.B), 0)
	num("slot", int64(op.Slot), -1)
	for i, n := range flagNames {
		if op.Flags&(1<<i) != 0 {
			b.WriteByte(' ')
			b.WriteString(n)
		}
	}
	if op.Name != "" {
		fmt.Fprintf(b, " name=%q", op.Name)
	}
	b.WriteByte('\n')
}

// Parse reads the text form. The result is linked but not verified.
func Parse(text string) (*Program, error) {
	p := &Program{}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.parseLine(line); err != nil {
			return nil, fmt.Errorf("plan: line %d: %w", i+1, err)
		}
	}
	p.Link()
	return p, nil
}

func (p *Program) parseLine(line string) error {
	words, name, err := split(line)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(line, "  "):
		if len(p.Procs) == 0 {
			return fmt.Errorf("an op outside a proc")
		}
		op, err := parseOp(words)
		if err != nil {
			return err
		}
		op.Name = name
		proc := p.Procs[len(p.Procs)-1]
		proc.Ops = append(proc.Ops, op)
		return nil
	case words[0] == "default":
		if len(words) < 2 {
			return fmt.Errorf("a default without its number")
		}
		p.Defaults = append(p.Defaults, name)
		return nil
	case words[0] == "proc":
		return p.parseProc(words)
	}
	for j, n := range jobNames {
		if n == words[0] && n != "" {
			p.Job = Job(j)
			v, err := number(words[1:], "slots", 0)
			p.Slots = int(v)
			return err
		}
	}
	return fmt.Errorf("%q is not a job", words[0])
}

// split cuts a line into words and takes the quoted text at its end, if there is any.
func split(line string) (words []string, quoted string, err error) {
	if i := strings.IndexByte(line, '"'); i >= 0 {
		if quoted, err = strconv.Unquote(line[i:]); err != nil {
			return nil, "", fmt.Errorf("bad quoted text %s", line[i:])
		}
		line = line[:i]
	}
	words = strings.Fields(line)
	if len(words) == 0 {
		return nil, "", fmt.Errorf("no word")
	}
	return words, quoted, nil
}

// number returns the value of the word name=value, or zero if none stands.
func number(words []string, name string, zero int64) (int64, error) {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return strconv.ParseInt(v, 10, 33)
		}
	}
	return zero, nil
}

func (p *Program) parseProc(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("a proc needs a number and a name")
	}
	proc := &Proc{Name: words[2]}
	if proc.Name == "-" {
		proc.Name = ""
	}
	var n [4]int64
	for i, name := range [4]string{"memory", "base", "unknown", "init"} {
		v, err := number(words, name, 0)
		if err != nil {
			return err
		}
		n[i] = v
	}
	proc.Memory, proc.Base, proc.Unknown, proc.Init = uint32(n[0]), int(n[1]), int32(n[2]), int32(n[3])
	proc.Union = words[len(words)-1] == "union"
	p.Procs = append(p.Procs, proc)
	return nil
}

func parseOp(words []string) (op Op, err error) {
	for c, n := range codeNames {
		if n == words[0] && n != "" {
			op.Code = Code(c)
		}
	}
	if op.Code == 0 {
		return op, fmt.Errorf("%q is not an op", words[0])
	}
	var n [6]int64
	for i, name := range [6]string{"id", "off", "size", "a", "b", "slot"} {
		zero := int64(0)
		if name == "slot" {
			zero = -1
		}
		if n[i], err = number(words, name, zero); err != nil {
			return op, err
		}
	}
	op.ID, op.Off, op.Size = int16(n[0]), uint32(n[1]), uint32(n[2])
	op.A, op.B, op.Slot = int32(n[3]), int32(n[4]), int32(n[5])
	for _, w := range words[1:] {
		for i, f := range flagNames {
			if f == w {
				op.Flags |= 1 << i
			}
		}
		if name, ok := strings.CutPrefix(w, "wire="); ok {
			for t := range 256 {
				if thriftwire.Type(t).Valid() && thriftwire.Type(t).String() == name {
					op.Wire = thriftwire.Type(t)
				}
			}
		}
	}
	return op, nil
}
