package transcode

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Thrift and writes replies: some fields to header, cookies, status or raw
// body, the others as JSON. What goes beside the body is kept until all is converted.

// reply is a struct some of whose fields stand in other parts of a reply than
// the body's JSON.
type reply struct {
	table  *structTable    // the struct's own, but for the names in JSON and what is written for absent fields
	fields []compiledReply // by index in table
}

// compiledReply says where a field goes.
type compiledReply struct {
	place Place // 0: into the JSON
	base  bool  // to the caller
	name  string
	write func(HTTPResponse, string)
}

// atUsers is the place of a Part with a Write of its own.
const atUsers = Nowhere + 1

// replyPart is the text of a field, in scratch.part, and where it goes.
type replyPart struct {
	to        *compiledReply
	from, end int
}

// replyBinder compiles the structs of replies.
type replyBinder struct {
	*compiler
	http    *httpOptions
	replies map[*schema.StructDef]*reply
}

// typ compiles t, and returns what writes its values.
func (b *replyBinder) typ(t *schema.Type, plain typ, root bool) (typ, error) {
	if plain.kind != schema.Struct || t.Struct().Flavor() == schema.Union || !root && !b.mapped(t.Struct(), map[*schema.StructDef]bool{}) {
		return plain, nil
	}
	out, err := b.bind(t.Struct(), root)
	return b.special(special{what: replyStruct, reply: out}, plain), err
}

func (b *replyBinder) mapped(d *schema.StructDef, seen map[*schema.StructDef]bool) bool {
	if d.Flavor() == schema.Union || seen[d] {
		return false
	}
	seen[d] = true
	return slices.ContainsFunc(d.Fields(), func(f *schema.Field) bool {
		return b.http.replyParts(f) != nil || f.Type().Kind() == schema.Struct && b.mapped(f.Type().Struct(), seen)
	})
}

func (b *replyBinder) bind(def *schema.StructDef, root bool) (*reply, error) {
	if out := b.replies[def]; out != nil {
		return out, nil
	}
	plain, err := b.strct(def)
	if err != nil {
		return nil, err
	}
	table := *plain
	table.fields, table.fill = slices.Clone(plain.fields), slices.Clone(plain.fill)
	out := &reply{table: &table, fields: make([]compiledReply, len(table.fields))}
	b.replies[def] = out
	names := make([]string, len(table.fields))
	for i, f := range def.Fields() {
		if names[i], err = b.field(out, i, f, root); err == nil && names[i] != "" && slices.Contains(names[:i], names[i]) {
			err = diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("two fields have the name %q in JSON", names[i]))
		}
		if err != nil {
			if fault, ok := err.(*diag.Fault); ok {
				fault.Field(f.Name())
			}
			return nil, err
		}
	}
	return out, nil
}

// field compiles field i of out and returns its name in JSON, "" if it is not
// there.
func (b *replyBinder) field(out *reply, i int, f *schema.Field, root bool) (string, error) {
	rf, t := &out.fields[i], &out.table.fields[i]
	elsewhere := func() (string, error) {
		out.table.fill[i/64] &^= 1 << (i % 64)
		return "", nil
	}
	if root && b.conv.opts.base && isBase(f.Type(), "BaseResp") {
		rf.base = true
		return elsewhere()
	}
	for _, p := range b.http.replyParts(f) {
		rf.name, rf.write = p.Name, p.Write
		switch {
		case p.Write != nil:
			rf.place = atUsers
		case p.Place == InCookie, p.Place == Nowhere:
			rf.place = p.Place
		case p.Place == InHeader:
			rf.place, rf.name = InHeader, canonical(p.Name)
		case p.Place == InStatus:
			if k := f.Type().Kind(); !k.IsInteger() && k != schema.Enum && k != schema.String {
				return "", diag.NewFault(diag.Unsupported, -1, "http_code needs a number, not "+f.Type().String())
			}
			rf.place = InStatus
		case p.Place == InRawBody:
			if k := f.Type().Kind(); k != schema.String && k != schema.Binary {
				return "", diag.NewFault(diag.Unsupported, -1, "raw_body needs a string, not "+f.Type().String())
			}
			rf.place = InRawBody
		case p.Place == InBody && p.Name != "":
			t.name = p.Name
			was := len(t.quoted)
			t.quoted = append(jsonwire.AppendQuotedLossy(nil, []byte(p.Name)), ':')
			if t.absentJSON != nil {
				t.absentJSON = append(slices.Clip(t.quoted), t.absentJSON[was:]...)
			}
			return p.Name, nil
		default:
			continue // a part that only requests have
		}
		return elsewhere()
	}
	var err error
	t.typ, err = b.typ(f.Type(), t.typ, false)
	return t.name, err
}

// reply writes the struct at p.
func (w *toJSON) reply(dst []byte, p int, rep *reply) ([]byte, int) {
	start, t := p, rep.table
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	set := w.open(len(t.fields))
	next := 0
	dst = append(dst, '{')
	for {
		if p >= len(w.in) {
			return dst, w.wireError(thriftwire.ErrEOF, p)
		}
		if w.in[p] == byte(thriftwire.Stop) {
			p++
			break
		}
		i, at := -1, p
		if i, p = w.header(p, t, next); p < 0 {
			return dst, p
		}
		if i < 0 {
			if p = w.unknown(p, at, t); p < 0 {
				return dst, p
			}
			continue
		}
		f := &t.fields[i]
		if w.mark(&set, i) {
			return dst, w.twice(at, t, f)
		}
		if dst, p = w.replyField(dst, p, f, &rep.fields[i]); p < 0 {
			w.fault.Field(f.name)
			return dst, p
		}
		next = i + 1
	}
	if t.needs {
		if dst, p = w.absent(dst, p, t, &set); p < 0 {
			return dst, p
		}
	}
	w.drop(&set, len(t.fields))
	w.depth++
	if dst = end(dst, '}'); len(dst) > w.limit {
		return dst, w.tooLarge(start)
	}
	return dst, p
}

// replyField writes the value of f at p to where it goes.
func (w *toJSON) replyField(dst []byte, p int, f *field, to *compiledReply) ([]byte, int) {
	if to.place == 0 && !to.base {
		dst = append(dst, f.quoted...)
		if dst, p = w.value(dst, p, &f.typ); p < 0 {
			return dst, p
		}
		return append(dst, ','), p
	}
	end, code := thriftwire.SkipAt(w.in, p, f.typ.wire, w.depth)
	switch {
	case code < 0:
		return dst, w.wireError(code, end)
	case to.base:
		if w.http != nil {
			w.http.base = w.in[p:end]
		}
		return dst, end
	case to.place == Nowhere:
		return dst, end
	}
	// The text is made behind the JSON and moved away.
	from, depth := len(dst), w.depth
	if to.place == InRawBody {
		dst = append(dst, w.in[p+4:end]...)
	} else {
		if dst, code = w.textForm(dst, p, &f.typ); code >= 0 && !fits(dst[from:], to) {
			w.fail(diag.InvalidData, p, fmt.Sprintf("a reply's %s cannot hold this value", to.place))
		}
		if w.fault != nil && w.http.opts.omitErrors {
			w.fault, w.depth = nil, depth
			return dst[:from], end
		}
	}
	if w.fault != nil {
		return dst, failed
	}
	m := w.memory()
	m.parts = append(m.parts, replyPart{to, len(m.part), len(m.part) + len(dst) - from})
	if m.part = append(m.part, dst[from:]...); len(m.part) > w.conv.opts.maxSize {
		return dst, w.tooLarge(p)
	}
	return dst[:from], end
}

// fits reports whether text can stand where it goes.
func fits(text []byte, to *compiledReply) bool {
	if to.place == InStatus {
		code, err := strconv.Atoi(string(text))
		return err == nil && code >= 100 && code <= 599
	}
	return to.write != nil || !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// textForm writes the value at p as text without quotes.
func (w *toJSON) textForm(dst []byte, p int, t *typ) ([]byte, int) {
	kind := t.plainKind()
	switch {
	case kind == schema.String || kind == schema.Binary && w.conv.opts.rawBinary:
		b, n := thriftwire.ConsumeBytes(w.in[p:])
		if n < 0 {
			return dst, w.wireError(n, p)
		}
		return append(dst, b...), p + n
	case (kind == schema.List || kind == schema.Set) && t.kind != kindSpecial && w.http.opts.commaLists && t.elem.plainKind() < schema.List:
		return w.commaList(dst, p, t)
	}
	from := len(dst)
	dst, p = w.value(dst, p, t)
	if p < 0 || dst[from] != '"' {
		return dst, p
	}
	m := w.memory()
	m.text, _ = jsonwire.AppendUnquotedLossy(m.text[:0], dst[from:])
	return append(dst[:from], m.text...), p
}

// commaList writes the list or set at p with commas between its elements.
func (w *toJSON) commaList(dst []byte, p int, t *typ) ([]byte, int) {
	elem, size, n := thriftwire.ConsumeList(w.in[p:])
	switch {
	case n < 0:
		return dst, w.wireError(n, p)
	case size > 0 && elem != t.elem.wire:
		return dst, w.mismatch(p, "elements of "+wireName(t.elem.wire), wireName(elem))
	}
	p += n
	for i := range size {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, p = w.textForm(dst, p, t.elem); p < 0 {
			w.fault.Index(i)
			return dst, p
		}
		if len(dst) > w.limit {
			return dst, w.tooLarge(p)
		}
	}
	return dst, p
}

// send gives what stands beside the body to the reply and puts a raw body in
// the place of the JSON in dst, which starts at base. status is that of the
// reply unless a field has one, 0 if it has none.
func (w *toJSON) send(dst []byte, base, status int) (out []byte, raw bool) {
	out = dst
	if w.mem != nil {
		for _, p := range w.mem.parts {
			text := w.mem.part[p.from:p.end]
			switch {
			case p.to.write != nil:
				p.to.write(w.http.resp, string(text))
			case p.to.place == InHeader:
				w.http.resp.SetHeader(p.to.name, string(text))
			case p.to.place == InCookie:
				w.http.resp.SetCookie(p.to.name, string(text))
			case p.to.place == InStatus:
				status, _ = strconv.Atoi(string(text))
			default:
				out, raw = append(out[:base], text...), true
			}
		}
	}
	if status != 0 {
		w.http.resp.SetStatus(status)
	}
	return out, raw
}
