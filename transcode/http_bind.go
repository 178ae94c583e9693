package transcode

import (
	"fmt"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file compiles where the fields of a request come from. http_read.go runs
// what is compiled here.

// bound is a request struct: one some of whose fields stand in other parts
// than the body's JSON. The root is the struct that the body's object stands for.
type bound struct {
	// table is the struct's own, but its names are the keys of its object in the
	// body; those from len(fields) on are keys that other structs look for.
	table  *structTable
	fields []boundField // by index in table
	extra  []int32      // the slots of the further keys
	early  []int32      // the fields with sources before the body
	late   []int32      // the fields with sources after it
	root   bool
	direct bool // whether the body's object matters
	base   int  // the field that the caller may give; -1 if none
	first  int  // the field whose member is likely to be the first
	weight int  // how many structs an absent one visits
}

// boundField says how a field of a bound struct gets its value.
type boundField struct {
	member  memberKind
	sources []source // in their order, before a member of the body
	after   []source // after it
	record  int32    // the slot for the position of the member of its key; -1 if nobody asks
	nested  *bound   // of a request struct that may have fields where the body has none
	always  bool     // nested is written whatever was found
	traced  bool     // after only counts if the body has the struct
	given   int32    // where what sources give is kept, and after it what after gives; see httpRun.repeats
	next    int      // the field whose member is likely to follow
}

// memberKind says what a member of the body's object with the field's key is.
type memberKind uint8

const (
	memberValue   memberKind = iota // the field's value
	memberLater                     // the value of a request struct, read when all members are known
	memberIgnored                   // not the field's
)

// source is a compiled Part.
type source struct {
	place Place
	name  string
	slot  int32 // in InBody with a name
	plain bool  // whether plainSource reads it
	read  func(HTTPRequest) []string
}

// maxWeight bounds how many structs are looked into for one request without a body.
const maxWeight = 10000

// binder compiles the request structs of one converter. The compiler's tables
// are finished before.
type binder struct {
	*compiler
	http   *httpOptions
	bounds map[boundKey]*bound
	open   []*schema.StructDef
	slots  map[string]int32
	count  int32 // of slots
	given  int32 // how many lists of sources there are
	many   bool  // whether a request struct is in a container
}

type boundKey struct {
	def          *schema.StructDef
	root, noBody bool
}

func (k *compiler) binder(h *httpOptions) *binder {
	return &binder{compiler: k, http: h, bounds: map[boundKey]*bound{}, slots: map[string]int32{}}
}

// bind compiles def as a request struct.
func (b *binder) bind(def *schema.StructDef, root, noBody bool) (*bound, error) {
	key := boundKey{def, root, noBody}
	if out := b.bounds[key]; out != nil {
		return out, nil
	}
	plain, err := b.strct(def)
	if err != nil {
		return nil, err
	}
	table := *plain
	table.fields = slices.Clone(plain.fields)
	out := &bound{table: &table, fields: make([]boundField, len(table.fields)), root: root, base: -1, weight: 1}
	b.bounds[key] = out
	b.open = append(b.open, def)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	names := make([]string, len(table.fields))
	for i, f := range def.Fields() {
		out.fields[i].record, out.fields[i].given = -1, b.given
		b.given += 2
		if names[i], err = b.field(out, i, f, names, noBody); err != nil {
			if fault, ok := err.(*diag.Fault); ok {
				fault.Field(f.Name())
			}
			return nil, err
		}
		if out.weight > maxWeight {
			return nil, diag.NewFault(diag.Unsupported, -1, "the request structs of "+def.Name()+" hold each other too often")
		}
	}
	if root {
		b.finishRoot(out)
		names = b.rootNames(out, names)
	}
	out.setNames(def, names)
	return out, nil
}

// field compiles field i of out and returns its key in the body's object, "" if it has none.
func (b *binder) field(out *bound, i int, f *schema.Field, taken []string, noBody bool) (string, error) {
	bf, t := &out.fields[i], &out.table.fields[i]
	if b.conv.opts.base && out.root && isBase(f.Type(), "Base") {
		out.base = i
	}
	parts := b.http.requestParts(f)
	if parts == nil {
		if nested, err := b.nested(out, i, f, false); nested || err != nil {
			if noBody {
				return b.later(out, i), err
			}
			out.direct = true
			return t.name, err
		}
		if b.http.usualParts != nil {
			parts = b.http.usualParts(f)
		}
		if parts == nil && !noBody {
			if err := b.elements(&t.typ, f.Type()); err != nil {
				return "", err
			}
		}
	}
	switch {
	case parts == nil && noBody:
		return b.later(out, i), nil
	case parts == nil && out.root && slices.Contains(taken[:i], b.wanted(f)):
		parts = []Part{{Place: InBody, Name: b.wanted(f)}} // an api.body has the same key
	case parts == nil:
		out.direct = true
		bf.traced = !out.root
		bf.after = b.traceback(out, f, t.name)
		if len(bf.after) > 0 {
			out.late = append(out.late, int32(i))
		}
		return t.name, nil
	case parts[0].Place == Nowhere:
		return b.later(out, i), nil
	case parts[0].Place == InNoBody:
		if _, err := b.nested(out, i, f, true); err != nil {
			return "", err
		}
		return b.later(out, i), nil
	}
	own := ""
	if b.http.bodyFallback && !slices.ContainsFunc(parts, func(p Part) bool { return p.Place == InBody }) {
		if own = t.name; out.root || noBody { // whose object is the body's
			own, parts = "", append(slices.Clip(parts), Part{Place: InBody, Name: t.name})
		}
	}
	return b.sources(out, i, f, parts, taken, own)
}

// wanted returns the name in JSON that f should have.
func (b *binder) wanted(f *schema.Field) string {
	if b.conv.opts.fieldName != nil {
		if name := b.conv.opts.fieldName(f); name != "" {
			return name
		}
	}
	return f.Name()
}

// later says that no member of the body is the value of field i.
func (b *binder) later(out *bound, i int) string {
	out.fields[i].member = memberIgnored
	return ""
}

// nested compiles f as a request struct if it is one, which noBody says
// outright.
func (b *binder) nested(out *bound, i int, f *schema.Field, noBody bool) (bool, error) {
	t := f.Type()
	if t.Kind() != schema.Struct || t.Struct().Flavor() != schema.PlainStruct {
		if noBody {
			return false, diag.NewFault(diag.Unsupported, -1, "no_body_struct needs a struct, not "+t.String())
		}
		return false, nil
	}
	if !noBody && !b.mapped(t.Struct(), map[*schema.StructDef]bool{}) || out.table.fields[i].typ.kind == kindSpecial {
		return false, nil
	}
	cyclic := slices.Contains(b.open, t.Struct())
	if cyclic && noBody {
		return false, diag.NewFault(diag.Unsupported, -1, t.String()+" holds itself without a body")
	}
	nested, err := b.bind(t.Struct(), false, noBody)
	if err != nil {
		return false, err
	}
	typ := &out.table.fields[i].typ
	*typ = b.special(special{what: boundStruct, bound: nested}, *typ)
	if !cyclic {
		bf := &out.fields[i]
		bf.nested = nested
		bf.always = f.Requiredness() == schema.Required
		out.late = append(out.late, int32(i))
		out.weight += nested.weight
	}
	return true, nil
}

// elements makes the structs in t, if it is the type of a container, request
// structs where they are ones. Keys of maps stay JSON.
func (b *binder) elements(t *typ, of *schema.Type) error {
	if k := t.kind; k != schema.List && k != schema.Set && k != schema.Map {
		return nil
	}
	held := structIn(of)
	if held == nil || !b.mapped(held, map[*schema.StructDef]bool{}) {
		return nil
	}
	elem := *t.elem
	t.elem = &elem
	if of.Elem().Kind() != schema.Struct {
		return b.elements(&elem, of.Elem())
	}
	if elem.kind == kindSpecial {
		return nil
	}
	nested, err := b.bind(held, false, false)
	b.many = true
	elem = b.special(special{what: boundStruct, bound: nested}, elem)
	return err
}

// structIn returns the struct that t is, or that its elements or values are on
// any level of containers; nil if they are none.
func structIn(t *schema.Type) *schema.StructDef {
	for {
		switch t.Kind() {
		case schema.List, schema.Set, schema.Map:
			t = t.Elem()
		case schema.Struct:
			return t.Struct()
		default:
			return nil
		}
	}
}

// mapped reports whether a field of d, or of a struct in it, says where it
// comes from. seen holds the structs that were asked before.
func (b *binder) mapped(d *schema.StructDef, seen map[*schema.StructDef]bool) bool {
	if d.Flavor() != schema.PlainStruct || seen[d] {
		return false
	}
	seen[d] = true
	return slices.ContainsFunc(d.Fields(), func(f *schema.Field) bool {
		held := structIn(f.Type())
		return b.http.requestParts(f) != nil || b.http.traceback && f.Requiredness() == schema.Required ||
			held != nil && b.mapped(held, seen)
	})
}

// traceback returns where a field that the body lacks is looked for.
func (b *binder) traceback(out *bound, f *schema.Field, name string) []source {
	if !b.http.traceback || !out.root && f.Requiredness() != schema.Required {
		return nil
	}
	return []source{{place: InPath, name: name}, {place: InQuery, name: name},
		{place: InHeader, name: canonical(name)}, {place: InCookie, name: name}}
}

// sources compiles the parts of field i and returns its key in its struct's object
// in the body, "" if it has none. own, if not empty, is the key that counts after all parts.
func (b *binder) sources(out *bound, i int, f *schema.Field, parts []Part, taken []string, own string) (string, error) {
	bf, key := &out.fields[i], ""
	for _, p := range parts {
		if p.Read == nil && p.Place == InBody && p.Name != "" && key == "" && out.root && !slices.Contains(taken[:i], p.Name) {
			key = p.Name
			continue
		}
		s, err := b.source(f, p)
		if err != nil {
			return "", err
		}
		s.plain = b.plain(s, &out.table.fields[i].typ)
		if key == "" && s.slot < 0 {
			bf.sources = append(bf.sources, s)
		} else {
			bf.after = append(bf.after, s)
		}
	}
	if len(bf.sources) > 0 {
		out.early = append(out.early, int32(i))
	}
	if len(bf.after) > 0 {
		out.late = append(out.late, int32(i))
	}
	if key == "" {
		key = own
	}
	if key == "" {
		bf.member = memberIgnored
	} else {
		out.direct = true
	}
	return key, nil
}

// source compiles one part.
func (b *binder) source(f *schema.Field, p Part) (source, error) {
	s := source{place: p.Place, name: p.Name, read: p.Read, slot: -1}
	if p.Read != nil {
		return s, nil
	}
	switch p.Place {
	case InPath, InQuery, InCookie, InForm:
	case InHeader:
		s.name = canonical(p.Name)
	case InBody:
		if p.Name != "" {
			slot, ok := b.slots[p.Name]
			if !ok {
				slot = b.slot()
				b.slots[p.Name] = slot
			}
			s.slot = slot
		}
	case InRawBody, InRawURI:
		if k := f.Type().Kind(); k != schema.String && (k != schema.Binary || p.Place == InRawURI) {
			return s, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("%s needs a string, not %s", p.Place, f.Type()))
		}
	default:
		return s, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("a request has no part %s", p.Place))
	}
	return s, nil
}

// plain reports whether a value of type t in s is text, a number or bool outside
// the body, so that plainSource reads it.
func (b *binder) plain(s source, t *typ) bool {
	return s.read == nil && s.place >= InPath && s.place <= InCookie && !b.http.emptyAbsent &&
		t.kind <= schema.String
}

func (b *binder) slot() int32 {
	b.count++
	return b.count - 1
}

// finishRoot puts off the request structs that look for keys of the root until
// all keys are known.
func (b *binder) finishRoot(out *bound) {
	for i := range out.fields {
		bf := &out.fields[i]
		s := boundIn(&out.table.fields[i].typ)
		if s == nil || bf.member != memberValue || !asksRoot(s, map[*bound]bool{}) {
			continue
		}
		bf.member, bf.record = memberLater, b.slot()
		if bf.nested == nil {
			if out.table.fields[i].typ.kind == kindSpecial {
				bf.nested = s
			}
			out.late = append(out.late, int32(i))
		}
	}
	out.direct = out.direct || len(b.slots) > 0
}

// asksRoot reports whether x, or a request struct in it, looks for keys of the
// root. seen holds those that were asked before.
func asksRoot(x *bound, seen map[*bound]bool) bool {
	if seen[x] {
		return false
	}
	seen[x] = true
	asks := func(s source) bool { return s.slot >= 0 }
	for i := range x.fields {
		if slices.ContainsFunc(x.fields[i].sources, asks) || slices.ContainsFunc(x.fields[i].after, asks) {
			return true
		}
		if s := boundIn(&x.table.fields[i].typ); s != nil && asksRoot(s, seen) {
			return true
		}
	}
	return false
}

// boundIn returns the request struct that t is, or that its elements are.
func boundIn(t *typ) *bound {
	for t.elem != nil {
		t = t.elem
	}
	if t.special == nil {
		return nil
	}
	return t.special.bound
}

// rootNames adds to the root's keys those that others look for.
func (b *binder) rootNames(out *bound, names []string) []string {
	keys := make([]string, b.count)
	for key, slot := range b.slots {
		keys[slot] = key
	}
	for slot, key := range keys {
		if key == "" {
			continue // of a field
		}
		if i := slices.Index(names, key); i >= 0 && out.fields[i].record < 0 {
			out.fields[i].record = int32(slot)
			continue
		}
		names = append(names, key)
		out.extra = append(out.extra, int32(slot))
	}
	return names
}

// setNames makes names the keys of the body's object. A field without a key is
// known by its own name, so that it is not unknown, unless that is another one's key.
func (out *bound) setNames(def *schema.StructDef, names []string) {
	t := out.table
	for i, f := range def.Fields() {
		if names[i] == "" {
			if names[i] = f.Name(); slices.Contains(names[:i], f.Name()) || slices.Contains(names[i+1:], f.Name()) {
				names[i] = fmt.Sprintf("\x00%d", i)
			}
		}
		t.fields[i].quoted = append(jsonwire.AppendQuotedLossy(nil, []byte(names[i])), ':')
		t.fields[i].expect = expect(t.fields[i].quoted)
	}
	t.names = newNameTable(names)
	next := len(out.fields)
	for i := len(out.fields) - 1; i >= 0; i-- {
		out.fields[i].next = next
		if out.fields[i].member != memberIgnored {
			next = i
		}
	}
	out.first = next
}
