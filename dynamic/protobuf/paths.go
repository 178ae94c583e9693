package protobuf

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds sets of paths, compiled into a tree whose branches are the
// values that paths lead through.

// Paths is a set of paths that are followed together, in one pass over a
// message. It is immutable and safe for concurrent use.
type Paths struct {
	from    *schema.Type
	root    *branch
	types   []*schema.Type // what each path leads to
	self    []int          // the paths without steps
	overlap error          // why nothing can be set along these paths, or nil
}

// branch is a value that paths lead through.
type branch struct {
	typ   *schema.Type // nil without a schema
	kind  kind         // bytesNode for a message, listNode, mapNode
	edges []edge       // of a message by number, of a list by index
	// table finds the edge of a field: what stands at its number less base is the
	// edge's number plus one, or 0. It is nil if numbers are too far apart.
	table  []uint16
	base   int32
	oneofs []*schema.Oneof // those that fields of edges belong to
}

// edge is a step from a branch, with the paths that end there and what the
// others lead through.
type edge struct {
	step  step
	slots []int
	next  *branch
}

// CompileAll resolves paths as they lead from a value of type t, or without a
// schema if t is nil. The error is a *diag.Fault whose path says which step the
// schema does not have.
func CompileAll(t *schema.Type, paths ...[]Step) (*Paths, error) {
	p := &Paths{from: t, root: &branch{typ: t}}
	for i, path := range paths {
		if f := p.add(i, path); f != nil {
			return nil, f
		}
	}
	p.root.finish()
	return p, nil
}

func overlap() *diag.Fault {
	return diag.NewFault(diag.InvalidValue, -1, "two paths lead to or through the same place")
}

func (p *Paths) add(slot int, path []Step) *diag.Fault {
	at, typ := p.root, p.from
	if len(path) == 0 {
		p.self = append(p.self, slot)
	}
	steps := make([]step, 0, len(path))
	for i, raw := range path {
		s, f := resolve(raw, typ)
		if f == nil {
			f = at.enter(&s)
		}
		if f != nil {
			return along(f, steps)
		}
		typ = s.typ
		steps = append(steps, s)
		e := at.edge(s)
		gap := s.kind == dynamic.BeforeStep || s.kind == dynamic.EndStep
		if i == len(path)-1 {
			e.slots = append(e.slots, slot)
		} else if gap {
			return along(diag.NewFault(diag.Unsupported, -1, "a gap has no parts"), steps)
		} else if e.next == nil {
			e.next = &branch{typ: typ}
		}
		if len(e.slots) > 0 && (e.next != nil || len(e.slots) > 1 && !gap) && p.overlap == nil {
			p.overlap = along(overlap(), steps)
		}
		at = e.next
	}
	if len(p.self) > 0 && (len(p.root.edges) > 0 || len(p.self) > 1) && p.overlap == nil {
		p.overlap = overlap()
	}
	p.types = append(p.types, typ)
	return nil
}

// enter settles what kind of value the branch is, or says that its steps do
// not agree on it.
func (br *branch) enter(s *step) *diag.Fault {
	k := mapNode
	switch s.kind {
	case dynamic.FieldStep:
		k = bytesNode
	case dynamic.IndexStep, dynamic.BeforeStep, dynamic.EndStep:
		k = listNode
	}
	if len(br.edges) == 0 {
		br.kind = k
	}
	if br.kind == k {
		return nil
	}
	return diag.NewFault(diag.TypeMismatch, -1, "the step "+s.given.String()+" leads into another kind of value than the paths before it")
}

// edge returns the edge for a step, which it adds if there is none yet.
func (br *branch) edge(s step) *edge {
	for i := range br.edges {
		if e := &br.edges[i]; e.step.kind == s.kind && e.step.num == s.num && e.step.text == s.text {
			return e
		}
	}
	if s.field != nil {
		s.text = "" // a name and a number are the same step
		for i := range br.edges {
			if br.edges[i].step.field == s.field {
				return &br.edges[i]
			}
		}
	}
	br.edges = append(br.edges, edge{step: s})
	return &br.edges[len(br.edges)-1]
}

// maxTable bounds the table of a message's fields.
const maxTable = 1 << 10

// finish sorts the edges and builds the tables, here and below.
func (br *branch) finish() {
	slices.SortStableFunc(br.edges, func(a, b edge) int {
		if br.kind == mapNode {
			return 0
		}
		return cmp.Or(cmp.Compare(a.step.num, b.step.num), cmp.Compare(order(a.step.kind), order(b.step.kind)))
	})
	for i := range br.edges {
		e := &br.edges[i]
		if o := oneofOf(e.step.field); o != nil && !slices.Contains(br.oneofs, o) {
			br.oneofs = append(br.oneofs, o)
		}
		if e.next != nil {
			e.next.finish()
		}
	}
	if br.kind != bytesNode {
		return
	}
	first, last := br.edges[0].step.num, br.edges[len(br.edges)-1].step.num
	if last-first >= maxTable {
		return
	}
	br.base = int32(first)
	br.table = make([]uint16, last-first+1)
	for i := range br.edges {
		br.table[br.edges[i].step.num-first] = uint16(i + 1)
	}
}

// order puts the gap before an element before it.
func order(k dynamic.StepKind) int {
	if k == dynamic.BeforeStep {
		return 0
	}
	return int(k)
}

// field returns the number of the edge to the field with that number, or -1.
func (br *branch) field(number int32) int {
	if br.table != nil {
		if k := uint32(number - br.base); k < uint32(len(br.table)) {
			return int(br.table[k]) - 1
		}
		return -1
	}
	i, ok := slices.BinarySearchFunc(br.edges, int64(number), func(e edge, n int64) int { return cmp.Compare(e.step.num, n) })
	if !ok {
		return -1
	}
	return i
}

// Len returns the number of paths.
func (p *Paths) Len() int { return len(p.types) }

// Type returns the type of what path i leads to, nil without a schema.
func (p *Paths) Type(i int) *schema.Type { return p.types[i] }

// wrongCount is the fault for a slice that has not one value for each path.
func (p *Paths) wrongCount(n int) *diag.Fault {
	return diag.NewFault(diag.InvalidValue, -1, strconv.Itoa(p.Len())+" paths and "+strconv.Itoa(n)+" values")
}
