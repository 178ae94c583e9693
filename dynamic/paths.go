package dynamic

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
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
	class class
	edges []edge
	// table finds the edge of a field: what stands at its id less base is the
	// edge's number plus one, or 0. It is nil if ids are too far apart.
	table []uint16
	base  uint16
	// sorted says that all keys are strings or all are integers, which stand in
	// their order.
	sorted bool
	// filter has a bit for the id of each field, modulo 64.
	filter uint64
	// forms are the keys given as values in the compact protocols, by edge; nil if
	// there are none.
	forms [CompactFBThrift + 1][]string
}

// class is what the steps from a branch lead into.
type class uint8

const (
	anyClass class = iota
	structClass
	listClass
	mapClass
)

// edge is a step from a branch, with the paths that end there and what the
// others lead through.
type edge struct {
	step  Step
	slots []int
	next  *branch
}

// CompileAll resolves paths as they lead from a value of type t, or without a
// schema if t is nil. The error is a *diag.Fault whose path says which step the
// schema does not have.
func CompileAll(t *schema.Type, paths ...[]Step) (*Paths, error) {
	p := &Paths{from: t, root: &branch{typ: t}}
	for i, path := range paths {
		if err := p.add(i, path); err != nil {
			return nil, err
		}
	}
	p.root.finish()
	return p, nil
}

func (p *Paths) add(slot int, path []Step) error {
	at, typ := p.root, p.from
	if len(path) == 0 {
		p.self = append(p.self, slot)
	}
	steps := make([]Step, 0, len(path))
	for i, raw := range path {
		s, f := raw.resolve(typ)
		if f == nil {
			f = at.enter(&s)
		}
		if f != nil {
			return along(f, steps)
		}
		typ = s.typ
		steps = append(steps, s)
		e := at.edge(s)
		gap := s.kind == stepBefore || s.kind == stepEnd
		if i == len(path)-1 {
			e.slots = append(e.slots, slot)
		} else if gap {
			return along(diag.NewFault(diag.Unsupported, -1, "a gap has no parts"), steps)
		} else if e.next == nil {
			e.next = &branch{typ: typ}
		}
		if len(e.slots) > 0 && (e.next != nil || len(e.slots) > 1 && !gap) && p.overlap == nil {
			p.overlap = along(diag.NewFault(diag.InvalidValue, -1, "two paths lead to or through the same place"), steps)
		}
		at = e.next
	}
	if len(p.self) > 0 && (len(p.root.edges) > 0 || len(p.self) > 1) && p.overlap == nil {
		p.overlap = diag.NewFault(diag.InvalidValue, -1, "two paths lead to or through the same place")
	}
	p.types = append(p.types, typ)
	return nil
}

// enter settles what kind of value the branch is, or says that its steps do
// not agree on it.
func (br *branch) enter(s *Step) *diag.Fault {
	c := anyClass // an index or an integer key
	switch s.kind {
	case stepField, stepFar:
		c = structClass
	case stepIndex, stepBefore, stepEnd:
		c = listClass
	case stepNumber:
	case stepNone:
		return diag.NewFault(diag.TypeMismatch, -1, "the zero Step leads nowhere")
	default:
		c = mapClass
	}
	if br.class == anyClass && len(br.edges) == 0 {
		br.class = c
	}
	switch {
	case br.class == c:
		return nil
	case c == anyClass && br.class != structClass:
		return nil
	case br.class == anyClass && c != structClass:
		br.class = c
		return nil
	}
	return diag.NewFault(diag.TypeMismatch, -1, "the step "+s.String()+" leads into another kind of value than the paths before it")
}

// edge returns the edge for a step, which it adds if there is none yet.
func (br *branch) edge(s Step) *edge {
	for i := range br.edges {
		if e := &br.edges[i]; e.step.kind == s.kind && e.step.num == s.num && (s.kind == stepField || e.step.text == s.text) {
			return e
		}
	}
	br.edges = append(br.edges, edge{step: s})
	return &br.edges[len(br.edges)-1]
}

// maxTable bounds the table of a struct's fields.
const maxTable = 1 << 10

// finish sorts the edges and builds the tables, here and below.
func (br *branch) finish() {
	slices.SortStableFunc(br.edges, func(a, b edge) int {
		if c := cmp.Compare(a.step.num, b.step.num); c != 0 && br.class != mapClass {
			return c
		}
		if a.step.kind != b.step.kind { // a gap stands before its element
			return cmp.Compare(order(a.step.kind), order(b.step.kind))
		}
		if c := cmp.Compare(a.step.num, b.step.num); c != 0 {
			return c
		}
		return cmp.Compare(a.step.text, b.step.text)
	})
	br.sorted = len(br.edges) > 0
	for i := range br.edges {
		e := &br.edges[i]
		k := e.step.kind
		if br.class == mapClass && k == stepNumber {
			k = stepInt
			e.step.kind = k
		}
		br.sorted = br.sorted && k == br.edges[0].step.kind && (k == stepString || k == stepInt || k == stepNumber)
		if k == stepValue {
			br.addForms(i)
		}
		if e.next != nil {
			e.next.finish()
		}
	}
	if br.class != structClass {
		return
	}
	for i := range br.edges {
		br.filter |= 1 << (br.edges[i].step.num & 63)
	}
	first, last := br.edges[0].step.num, br.edges[len(br.edges)-1].step.num
	if last-first >= maxTable {
		return
	}
	br.base = uint16(first)
	br.table = make([]uint16, last-first+1)
	for i := range br.edges {
		br.table[br.edges[i].step.num-first] = uint16(i + 1)
	}
}

// addForms brings the key of edge i into the compact protocols.
func (br *branch) addForms(i int) {
	for p := Compact; p <= CompactFBThrift; p++ {
		if br.forms[p] == nil {
			br.forms[p] = make([]string, len(br.edges))
		}
		br.forms[p][i] = br.edges[i].step.form(p)
	}
}

func order(k stepKind) int {
	if k == stepBefore {
		return 0
	}
	return int(k)
}

// field returns the number of the edge to the field with that id, or -1.
func (br *branch) field(id uint16) int {
	if br.table != nil {
		if k := int(id - br.base); k < len(br.table) {
			return int(br.table[k]) - 1
		}
		return -1
	}
	i, ok := slices.BinarySearchFunc(br.edges, int64(int16(id)), func(e edge, id int64) int { return cmp.Compare(e.step.num, id) })
	if !ok {
		return -1
	}
	return i
}

// few is the number of keys up to which they are compared one by one.
const few = 8

// key returns the number of the edge whose key of wire type t is b[pos:end],
// or -1.
func (br *branch) key(p Protocol, b []byte, pos, end int, t thriftwire.Type) int {
	if !br.sorted || len(br.edges) <= few {
		if p != Binary {
			return br.compactKey(p, b, pos, end, t)
		}
		for i := range br.edges {
			if br.edges[i].step.sameKey(b, pos, end, t) {
				return i
			}
		}
		return -1
	}
	var text []byte
	var num int64
	if br.edges[0].step.kind == stepString {
		if text = b[pos:end]; t == thriftwire.String {
			text, _ = p.text(text)
		}
	} else if p == Binary {
		num = keyInt(b, pos, t)
	} else {
		num, _ = compactInt(b[pos:], t)
	}
	i, ok := slices.BinarySearchFunc(br.edges, num, func(e edge, num int64) int {
		if e.step.kind == stepString {
			return cmp.Compare(e.step.text, string(text))
		}
		return cmp.Compare(e.step.num, num)
	})
	if !ok {
		return -1
	}
	return i
}

// compactKey is key where keys are compared one by one, in a compact protocol.
func (br *branch) compactKey(p Protocol, b []byte, pos, end int, t thriftwire.Type) int {
	for i := range br.edges {
		s := &br.edges[i].step
		if s.kind == stepValue {
			s = &Step{kind: stepValue, text: br.forms[p][i]}
		}
		if s.sameCompactKey(p, b, pos, end, t) {
			return i
		}
	}
	return -1
}

// suits reports whether the edges lead into a value of wire type t.
func (br *branch) suits(t thriftwire.Type) bool {
	switch t {
	case thriftwire.Struct:
		return br.class == structClass
	case thriftwire.List, thriftwire.Set:
		return br.class == listClass || br.class == anyClass
	case thriftwire.Map:
		return br.class == mapClass || br.class == anyClass
	default:
		return false
	}
}

// misfit is the fault for a value of wire type t that the branch does not suit.
func (br *branch) misfit(pos int, t thriftwire.Type) *diag.Fault {
	want := [...]string{"a container", "struct", "list or set", "map"}[br.class]
	return wrongType(pos, want, t.String())
}

// marks remembers which edges of a branch have been met.
type marks struct {
	word uint64
	more []uint64
}

// meet marks edge i of n and reports whether it was unmarked.
func (m *marks) meet(i, n int) bool {
	word := &m.word
	if i >= 64 {
		if m.more == nil {
			m.more = make([]uint64, n/64)
		}
		word = &m.more[i/64-1]
	}
	bit := uint64(1) << (i & 63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// met reports whether edge i is marked.
func (m *marks) met(i int) bool {
	if i < 64 {
		return m.word>>i&1 != 0
	}
	return m.more != nil && m.more[i/64-1]>>(i&63)&1 != 0
}

// Len returns the number of paths.
func (p *Paths) Len() int { return len(p.types) }

// Type returns the type of what path i leads to, nil without a schema.
func (p *Paths) Type(i int) *schema.Type { return p.types[i] }

// misfit is the fault for a node that does not have the type of the paths.
func (p *Paths) misfit(n Node) *diag.Fault {
	if !n.Exists() {
		return notFound()
	}
	return wrongType(0, p.from.String(), n.typ.String())
}

// wrongCount is the fault for a slice that has not one value for each path.
func (p *Paths) wrongCount(n int) *diag.Fault {
	return diag.NewFault(diag.InvalidValue, -1, strconv.Itoa(p.Len())+" paths and "+strconv.Itoa(n)+" values")
}
