package flatbuf

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the Verifier: options, what a layout is compiled to, faults.

// Verifier checks whether messages are whole: whether accessors find everything
// that they look for, inside the buffer. It is safe for concurrent use.
type Verifier struct {
	root   *verifyTable
	config verifyConfig
}

type verifyConfig struct {
	depth, tables, visits int
	bytes                 int
	unaligned, opaque     bool
	identifier            string
}

// VerifyOption changes what a Verifier accepts.
type VerifyOption interface{ apply(*verifyConfig) }

type verifyOption func(*verifyConfig)

func (o verifyOption) apply(c *verifyConfig) { o(c) }

// MaxDepth limits the nesting of tables; the default is 64. Nested buffers nest
// as deep, each with this limit for its own tables.
func MaxDepth(n int) VerifyOption { return verifyOption(func(c *verifyConfig) { c.depth = n }) }

// MaxTables limits the number of tables, where one that several places refer to
// counts as often; the default is 1,000,000.
func MaxTables(n int) VerifyOption { return verifyOption(func(c *verifyConfig) { c.tables = n }) }

// MaxVisits limits the number of tables and elements of vectors that are
// looked at, so that a message whose parts refer to the same parts over and
// over costs little. The default is 16 for each byte, and 65,536 at least.
func MaxVisits(n int) VerifyOption { return verifyOption(func(c *verifyConfig) { c.visits = n }) }

// MaxBytes limits the size of a message in bytes, a size before it included. The default is what the format
// allows, 2 GiB less one.
func MaxBytes(n int) VerifyOption { return verifyOption(func(c *verifyConfig) { c.bytes = n }) }

// AllowUnaligned accepts parts that do not stand at multiples of their alignment. Thrum
// reads those too; C++ may not.
func AllowUnaligned() VerifyOption { return verifyOption(func(c *verifyConfig) { c.unaligned = true }) }

// SkipNested takes nested buffers for plain bytes.
func SkipNested() VerifyOption { return verifyOption(func(c *verifyConfig) { c.opaque = true }) }

// FileIdentifier refuses messages without that file identifier of four bytes.
func FileIdentifier(id string) VerifyOption {
	return verifyOption(func(c *verifyConfig) { c.identifier = id })
}

// verifyTable is a TableLayout in the form that verification runs on.
type verifyTable struct {
	name string
	ops  []verifyOp // in the order of slots

	// The same in two parts: few bytes for each scalar, so that large tables need little memory.
	scalars    []verifyRun
	references []verifyOp
}

// verifyRun is scalars or structs of one size whose slots follow one another.
type verifyRun struct {
	from, to uint16 // slots in the vtable, without to
	mask     uint8  // alignment - 1
	size     uint32
}

type verifyOp struct {
	at       uint16 // of the slot in the vtable
	kind     FieldKind
	required bool
	offset64 bool
	vector64 bool
	wide     bool  // one of the two
	mask     uint8 // alignment - 1
	size     uint32
	table    *verifyTable
	union    *verifyUnion
	name     string
}

type verifyUnion struct {
	members []verifyMember // by type
}

type verifyMember struct {
	typ   uint64
	kind  FieldKind
	mask  uint8
	size  uint32
	table *verifyTable
	name  string
}

// NewVerifier returns a Verifier for messages whose root is the table at
// l.Tables[root]. It returns an error for a layout that contradicts itself. l
// is not kept.
func NewVerifier(l *Layout, root int, opts ...VerifyOption) (*Verifier, error) {
	v := &Verifier{config: defaultConfig()}
	for _, o := range opts {
		o.apply(&v.config)
	}
	if id := v.config.identifier; id != "" && len(id) != fileIdentifierLength {
		return nil, fmt.Errorf("flatbuf: the file identifier %q has not four bytes", id)
	}
	if root < 0 || root >= len(l.Tables) {
		return nil, fmt.Errorf("flatbuf: there is no table %d", root)
	}
	tables, err := compileLayout(l)
	if err != nil {
		return nil, err
	}
	v.root = &tables[root]
	return v, nil
}

func defaultConfig() verifyConfig {
	return verifyConfig{depth: flatwire.MaxDepth, tables: flatwire.MaxTables, bytes: flatwire.MaxSize}
}

// With returns a Verifier for the same messages with other options in addition.
// It panics if a file identifier has not four bytes.
func (v *Verifier) With(opts ...VerifyOption) *Verifier {
	w := *v
	for _, o := range opts {
		o.apply(&w.config)
	}
	if id := w.config.identifier; id != "" && len(id) != fileIdentifierLength {
		panic(fmt.Sprintf("flatbuf: the file identifier %q has not four bytes", id))
	}
	return &w
}

// VerifierSet are the verifiers of all tables of a layout, for generated code. The
// layout is compiled at the first use. They are safe for concurrent use.
type VerifierSet struct {
	layout *Layout
	once   sync.Once
	all    []Verifier
}

// NewVerifierSet returns the verifiers of l, which is kept and must not change.
func NewVerifierSet(l *Layout) *VerifierSet { return &VerifierSet{layout: l} }

// Root returns the verifier of messages whose root is the table at Tables[root] of
// the layout. It panics if there is none or the layout contradicts itself.
func (v *VerifierSet) Root(root int) *Verifier {
	v.once.Do(v.compile)
	return &v.all[root]
}

func (v *VerifierSet) compile() {
	tables, err := compileLayout(v.layout)
	if err != nil {
		panic(err)
	}
	v.all = make([]Verifier, len(tables))
	for i := range tables {
		v.all[i] = Verifier{root: &tables[i], config: defaultConfig()}
	}
}

// compileLayout returns the tables of l, as verification runs on them.
func compileLayout(l *Layout) ([]verifyTable, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	tables := make([]verifyTable, len(l.Tables))
	unions := make([]verifyUnion, len(l.Unions))
	for i := range l.Unions {
		for _, m := range l.Unions[i].Members {
			c := verifyMember{typ: m.Type, kind: m.Kind, mask: max(m.Align, 1) - 1, size: m.Size, name: m.Name}
			if m.Kind == TableField {
				c.table = &tables[m.Ref]
			}
			unions[i].members = append(unions[i].members, c)
		}
		slices.SortFunc(unions[i].members, func(x, y verifyMember) int { return compareUint(x.typ, y.typ) })
	}
	for i := range l.Tables {
		t := &tables[i]
		t.name = l.Tables[i].Name
		for _, f := range l.Tables[i].Fields {
			op := verifyOp{
				at: 4 + 2*f.Slot, kind: f.Kind, required: f.Required, offset64: f.Offset64, vector64: f.Vector64, wide: f.Offset64 || f.Vector64,
				mask: max(f.Align, 1) - 1, size: f.Size, name: f.Name,
			}
			switch f.Kind {
			case TableField, TableVector, NestedField:
				op.table = &tables[f.Ref]
			case UnionField, UnionVector:
				op.union = &unions[f.Ref]
			}
			t.ops = append(t.ops, op)
		}
		slices.SortStableFunc(t.ops, func(x, y verifyOp) int { return int(x.at) - int(y.at) })
		t.split()
	}
	return tables, nil
}

// split makes the two parts of ops.
func (t *verifyTable) split() {
	for _, op := range t.ops {
		// A scalar that must be there is looked at with its name at hand.
		if op.kind != ScalarField || op.required {
			t.references = append(t.references, op)
			continue
		}
		if n := len(t.scalars); n > 0 {
			if r := &t.scalars[n-1]; r.to == op.at && r.mask == op.mask && r.size == op.size {
				r.to += 2
				continue
			}
		}
		t.scalars = append(t.scalars, verifyRun{from: op.at, to: op.at + 2, mask: op.mask, size: op.size})
	}
}

func compareUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// member returns the member with that type, or nil.
func (u *verifyUnion) member(typ uint64) *verifyMember {
	if i := typ - 1; i < uint64(len(u.members)) && u.members[i].typ == typ { // numbered from 1, mostly
		return &u.members[i]
	}
	i, ok := slices.BinarySearchFunc(u.members, typ, func(m verifyMember, typ uint64) int { return compareUint(m.typ, typ) })
	if !ok {
		return nil
	}
	return &u.members[i]
}

// Verify checks a message, which is the whole of b. The error is a *diag.Fault.
func (v *Verifier) Verify(b []byte) error { return v.verify(b, 0) }

// VerifySizePrefixed checks a message with its size before it. b may be longer
// than the size says.
func (v *Verifier) VerifySizePrefixed(b []byte) error {
	if code := flatwire.CheckPrefix(b); code < 0 {
		return fault(code, 0)
	}
	return v.verify(b, sizePrefixLength)
}

// VerifySizePrefixed64 is VerifySizePrefixed for a size of 64 bits.
func (v *Verifier) VerifySizePrefixed64(b []byte) error {
	if code := flatwire.CheckPrefix64(b); code < 0 {
		return fault(code, 0)
	}
	return v.verify(b, flatwire.SizePrefix64)
}

func (v *Verifier) verify(b []byte, start int) error {
	if len(b) > min(v.config.bytes, flatwire.MaxSize) {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a message of %d bytes", len(b)))
	}
	s := verification{b: b, config: &v.config, aligned: !v.config.unaligned, visits: v.config.visits}
	if s.visits == 0 {
		s.visits = visitsOf(b)
	}
	s.tables = v.config.tables
	if !s.buffer(v.root, start, v.config.identifier) {
		return s.fault
	}
	return nil
}

// visitsOf is what a message may make of itself unless options say otherwise: 16 for each byte.
func visitsOf(b []byte) int { return max(min(len(b), math.MaxInt/16)*16, 1<<16) }

// fault makes the error of a code of flatwire, or one of those below. A pos below 0, one that an int
// does not hold, is none.
func fault(code, pos int) *diag.Fault {
	f := faults[-code]
	return diag.NewFault(f.code, max(pos, -1), f.detail)
}

// More reasons to refuse a message, beside flatwire's.
const (
	errRequired = -9 - iota
	errDepth
	errTables
	errVisits
	errUnion
	errUnionVector
)

var faults = [...]struct {
	code   diag.Code
	detail string
}{
	-flatwire.ErrRange:      {diag.UnexpectedEOF, "a part lies outside the message"},
	-flatwire.ErrAlign:      {diag.InvalidData, "a part is not aligned"},
	-flatwire.ErrOffset:     {diag.InvalidData, "an offset leads nowhere"},
	-flatwire.ErrVTable:     {diag.InvalidData, "a vtable has an odd size"},
	-flatwire.ErrTerminator: {diag.InvalidData, "a string has no zero byte after it"},
	-flatwire.ErrLength:     {diag.InvalidLength, "a vector is longer than any message"},
	-flatwire.ErrIdentifier: {diag.InvalidHeader, "the message has another file identifier"},
	-flatwire.ErrShort:      {diag.UnexpectedEOF, "too short for a message"},
	-errRequired:            {diag.MissingRequired, "a required field is absent"},
	-errDepth:               {diag.DepthLimit, "tables are nested too deeply"},
	-errTables:              {diag.SizeLimit, "too many tables"},
	-errVisits:              {diag.SizeLimit, "parts are referred to too many times"},
	-errUnion:               {diag.InvalidUnion, "a union has the type of a struct and no value"},
	-errUnionVector:         {diag.InvalidUnion, "a vector of unions does not match that of their types"},
}
