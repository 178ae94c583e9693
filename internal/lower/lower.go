package lower

import (
	"sort"

	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// Struct lowers the layout of a struct for a job. slots is the number of slots
// that the layouts name. The result is linked and verified.
func Struct(job plan.Job, root *Layout, slots int) (*plan.Program, error) {
	l := &lowering{
		prog:     &plan.Program{Job: job, Slots: slots},
		structs:  make(map[*Layout]int32),
		values:   make(map[*ValueLayout]int32),
		defaults: make(map[string]int32),
	}
	l.structure(root)
	switch job {
	case plan.Size:
		l.fold()
	case plan.Decode:
		l.order()
	}
	l.prog.Link()
	if err := l.prog.Verify(); err != nil {
		return nil, err
	}
	return l.prog, nil
}

type lowering struct {
	prog     *plan.Program
	structs  map[*Layout]int32
	values   map[*ValueLayout]int32
	defaults map[string]int32
}

// The pass "procedures".

func (l *lowering) add(p *plan.Proc) int32 {
	l.prog.Procs = append(l.prog.Procs, p)
	return int32(len(l.prog.Procs) - 1)
}

func (l *lowering) structure(s *Layout) int32 {
	if n, ok := l.structs[s]; ok {
		return n
	}
	proc := &plan.Proc{Name: s.Def.Name(), Memory: s.Memory, Unknown: s.Unknown, Init: s.Init, Union: s.Def.Flavor() == schema.Union}
	n := l.add(proc)
	l.structs[s] = n
	ops := make([]plan.Op, 0, len(s.Fields))
	for i := range s.Fields {
		ops = append(ops, l.field(&s.Fields[i]))
	}
	proc.Ops = ops
	return n
}

func (l *lowering) field(f *FieldLayout) plan.Op {
	op := l.op(&f.Value)
	op.Flags |= plan.Header
	op.ID, op.Off, op.Name = int16(f.Field.ID()), f.Offset, f.Field.Name()
	optional := f.Field.Requiredness() == schema.Optional
	switch {
	case f.Deref:
		op.Flags |= plan.Deref
		op.Slot = f.DerefSlot
	case optional && f.Default != nil:
		op.Flags |= plan.Default
		op.B = l.constant(*f.Default)
	case optional && nilable(op.Code):
		op.Flags |= plan.Optional
	}
	if f.Alias {
		op.Flags |= plan.Alias
	}
	if f.Field.Requiredness() == schema.Required {
		op.Flags |= plan.Required
	}
	return op
}

// nilable reports whether values of c can be nil, which means absent.
func nilable(c plan.Code) bool {
	switch c {
	case plan.Pointer, plan.List, plan.Map, plan.Binary:
		return true
	}
	return false
}

func (l *lowering) constant(text string) int32 {
	n, ok := l.defaults[text]
	if !ok {
		n = int32(len(l.prog.Defaults))
		l.defaults[text] = n
		l.prog.Defaults = append(l.prog.Defaults, text)
	}
	return n
}

// op makes the op of a value at offset 0 without a header.
func (l *lowering) op(v *ValueLayout) plan.Op {
	op := plan.Op{Code: v.Code, Wire: wireType(v.Type), Slot: v.Slot, A: 0, B: 0}
	switch v.Code {
	case plan.Struct, plan.Pointer:
		op.A = l.structure(v.Struct)
	case plan.List:
		op.A = l.value(v.Elem)
		op.Size = v.Elem.Memory
		if v.PointerFree {
			op.Flags |= plan.PointerFree
		}
		if v.Type.Kind() == schema.Set {
			op.Flags |= plan.Unique
		}
	case plan.Map:
		op.A = l.value(v.Key)
		op.B = l.value(v.Elem)
	}
	return op
}

// value makes the procedure of an element, key or entry.
func (l *lowering) value(v *ValueLayout) int32 {
	if n, ok := l.values[v]; ok {
		return n
	}
	proc := &plan.Proc{Memory: v.Memory, Unknown: -1, Init: -1}
	n := l.add(proc)
	l.values[v] = n
	proc.Ops = []plan.Op{l.op(v)}
	return n
}

var wireTypes = [...]thriftwire.Type{
	schema.Bool: thriftwire.Bool, schema.I8: thriftwire.I8, schema.I16: thriftwire.I16, schema.I32: thriftwire.I32,
	schema.I64: thriftwire.I64, schema.Float: thriftwire.Float, schema.Double: thriftwire.Double,
	schema.String: thriftwire.String, schema.Binary: thriftwire.String, schema.UUID: thriftwire.UUID,
	schema.Enum: thriftwire.I32, schema.List: thriftwire.List, schema.Set: thriftwire.Set, schema.Map: thriftwire.Map,
	schema.Struct: thriftwire.Struct,
}

func wireType(t *schema.Type) thriftwire.Type { return wireTypes[t.Kind()] }

// The pass "fold" removes ops of fixed size that are always written and adds
// their size to their procedure's Base, which also counts a struct's STOP.
func (l *lowering) fold() {
	l.prog.Link() // for Fixed
	for _, p := range l.prog.Procs {
		if p.IsStruct() {
			p.Base = 1
		}
		var kept []plan.Op
		for _, op := range p.Ops {
			if op.Code.Width() > 0 && op.Flags&(plan.Deref|plan.Default) == 0 {
				p.Base += int(op.Fixed)
				continue
			}
			kept = append(kept, op)
		}
		p.Ops = kept
	}
}

// The pass "order" sorts fields as writers send them: by id, which is how
// every generator writes them.
func (l *lowering) order() {
	for _, p := range l.prog.Procs {
		sort.SliceStable(p.Ops, func(i, j int) bool { return p.Ops[i].ID < p.Ops[j].ID })
	}
}
