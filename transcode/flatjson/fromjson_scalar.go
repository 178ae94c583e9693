package flatjson

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file holds what stands inline: numbers, structs and arrays.

// number reads a number, bool or enum of type t. f is the field that holds it, alone or in a vector or array; nil
// for what no field does.
func (r *reader) number(t *schema.Type, f *schema.Field) (uint64, *diag.Fault) {
	at := r.i
	c := r.peek()
	switch {
	case c == '"' || c == '\'' && r.opt.lenient:
		s, fault := r.str()
		if fault != nil {
			return 0, fault
		}
		if f != nil && f.Annotations().Has("hash") {
			return r.hashed(f, s, at)
		}
		return r.spelt(t, string(s), at)
	case c == '-' || c >= '0' && c <= '9':
		if !r.opt.lenient {
			return r.digits(t)
		}
	case !r.opt.lenient:
		for _, word := range []string{"true", "false"} {
			if n := jsonwire.SkipLiteral(r.b[r.i:], word); n > 0 {
				r.i += n
				return r.spelt(t, word, at)
			}
		}
		return 0, r.unexpected("a value of type " + t.String())
	}
	if f != nil && f.Annotations().Has("hash") && isLetter(c) {
		s, fault := r.word()
		if fault != nil {
			return 0, fault
		}
		return r.hashed(f, s, at)
	}
	return r.loose(t, 0)
}

// digits reads a number of JSON.
func (r *reader) digits(t *schema.Type) (uint64, *diag.Fault) {
	b := r.b[r.i:]
	var bits uint64
	var n int
	switch kind, size := flatpack.KindOf(t), 8*t.InlineSize(); {
	case kind == schema.Double:
		var f float64
		f, n = jsonwire.ConsumeFloat(b, 64)
		bits = math.Float64bits(f)
	case kind == schema.Float:
		var f float64
		f, n = jsonwire.ConsumeFloat(b, 32)
		bits = uint64(math.Float32bits(float32(f)))
	case kind.IsUnsigned() || kind == schema.Bool:
		bits, n = jsonwire.ConsumeUint(b, size)
		if kind == schema.Bool && bits > 1 {
			n = jsonwire.ErrRange
		}
	default:
		var i int64
		i, n = jsonwire.ConsumeInt(b, size)
		bits = uint64(i)
	}
	if n < 0 {
		return 0, r.wire(n, t)
	}
	r.i += n
	return bits, nil
}

// wire returns the fault of a number that is none of type t.
func (r *reader) wire(n int, t *schema.Type) *diag.Fault {
	switch n {
	case jsonwire.ErrRange:
		return diag.NewFault(diag.OutOfRange, r.i, "the number is beyond the range of "+t.String())
	case jsonwire.ErrInteger:
		return diag.NewFault(diag.TypeMismatch, r.i, "the number is no integer, and of type "+t.String())
	case jsonwire.ErrEOF:
		return diag.NewFault(diag.UnexpectedEOF, len(r.b), jsonwire.Describe(n))
	}
	return diag.NewFault(diag.Syntax, r.i, jsonwire.Describe(n))
}

// spelt is the number of type t that stands in a string, or whose name does.
func (r *reader) spelt(t *schema.Type, s string, at int) (uint64, *diag.Fault) {
	if t.Kind() == schema.Enum {
		if bits, ok := named(t.Enum(), s); ok {
			return bits, nil
		}
	}
	kind, size := flatpack.KindOf(t), 8*t.InlineSize()
	s = strings.Trim(s, " ")
	var bits uint64
	var err error
	switch kind {
	case schema.Bool:
		var b bool
		if b, err = strconv.ParseBool(s); b {
			bits = 1
		}
	case schema.Float, schema.Double:
		var f float64
		if strings.EqualFold(s, "-nan") || strings.EqualFold(s, "+nan") {
			s = s[1:]
		}
		f, err = strconv.ParseFloat(s, size)
		if bits = math.Float64bits(f); kind == schema.Float {
			bits = uint64(math.Float32bits(float32(f)))
		}
	default:
		base := 10
		if digits := strings.TrimLeft(s, "+-"); strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X") {
			base = 0
		}
		if kind.IsUnsigned() {
			bits, err = strconv.ParseUint(strings.TrimPrefix(s, "+"), base, size)
		} else {
			var i int64
			i, err = strconv.ParseInt(s, base, size)
			bits = uint64(i)
		}
	}
	switch {
	case err == nil && !strings.Contains(s, "_"): // which only numbers of Go may have
		return bits, nil
	case t.Kind() == schema.Enum:
		return 0, diag.NewFault(diag.UnknownEnum, at, fmt.Sprintf("%s has no value %q", t.Enum().Name(), clip([]byte(s))))
	case isRange(s, err):
		return 0, diag.NewFault(diag.OutOfRange, at, "the number is beyond the range of "+t.String())
	}
	return 0, diag.NewFault(diag.TypeMismatch, at, fmt.Sprintf("%q is no value of type %s", clip([]byte(s)), t))
}

// isRange tells whether s, which a type did not take with err, is a number beyond
// the type's range.
func isRange(s string, err error) bool {
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
		return true
	}
	_, err = strconv.ParseInt(s, 10, 64)
	return err == nil
}

// named returns the number of a name, with the enum's name before it or not, or of
// several, with spaces between them.
func named(e *schema.EnumDef, names string) (bits uint64, ok bool) {
	if v := e.ByName(names); v != nil {
		return uint64(v.Value), true
	}
	words := strings.Fields(names)
	for _, name := range words {
		v := e.ByName(strings.TrimPrefix(name, e.Name()+"."))
		if v == nil || len(words) > 1 && !e.Flags() {
			return 0, false
		}
		bits |= uint64(v.Value)
	}
	return bits, len(words) > 0
}

// hashed is the hash of a string, by the function that the attribute hash names.
// They are FNV, but that flatc starts those of 64 bits at another number.
func (r *reader) hashed(f *schema.Field, s []byte, at int) (uint64, *diag.Fault) {
	const start64, prime64 = 0xcbf29ce484222645, 0x100000001b3
	switch name := f.Annotations().Value("hash"); name {
	case "fnv1_32":
		h := fnv.New32()
		h.Write(s)
		return uint64(h.Sum32()), nil
	case "fnv1a_32":
		h := fnv.New32a()
		h.Write(s)
		return uint64(h.Sum32()), nil
	case "fnv1_64":
		h := uint64(start64)
		for _, c := range s {
			h = h*prime64 ^ uint64(c)
		}
		return h, nil
	case "fnv1a_64":
		h := uint64(start64)
		for _, c := range s {
			h = (h ^ uint64(c)) * prime64
		}
		return h, nil
	default:
		return 0, diag.NewFault(diag.Unsupported, at, "there is no hash function "+name+" for a message")
	}
}

// inlined reads a struct and returns its bytes, which stand at the end of r.text.
func (r *reader) inlined(t *schema.Type) ([]byte, *diag.Fault) {
	start := len(r.text)
	fault := r.inline(t, nil)
	return r.text[start:], fault
}

// inline reads a number, struct or array, of the field f if that is not nil, and appends its bytes to r.text.
func (r *reader) inline(t *schema.Type, f *schema.Field) *diag.Fault {
	switch t.Kind() {
	case schema.Struct:
		return r.fixed(t.Struct())
	case schema.Array:
		_, _, fault := r.inlineList(t.Elem(), t.Len(), f)
		return fault
	}
	bits, fault := r.number(t, f)
	if fault != nil {
		return fault
	}
	for range t.InlineSize() {
		r.text = append(r.text, byte(bits))
		bits >>= 8
	}
	return nil
}

// inlineList reads n elements, or any number if n is negative.
func (r *reader) inlineList(elem *schema.Type, n int, f *schema.Field) (data []byte, count int, fault *diag.Fault) {
	start, at := len(r.text), r.i
	count, fault = r.list(func(i int) *diag.Fault {
		if n >= 0 && i >= n {
			return diag.NewFault(diag.OutOfRange, r.i, fmt.Sprintf("more than %d elements", n))
		}
		if fault := r.inline(elem, f); fault != nil {
			return fault.Index(i)
		}
		return nil
	})
	if fault == nil && n >= 0 && count < n {
		fault = diag.NewFault(diag.OutOfRange, at, fmt.Sprintf("%d elements of %d", count, n))
	}
	return r.text[start:], count, fault
}

// fixed reads a struct: an object with all its fields, or an array of them.
func (r *reader) fixed(d *schema.StructDef) *diag.Fault {
	start, at := len(r.text), r.i
	r.text = append(r.text, make([]byte, d.Size())...)
	fields := d.Fields()
	one := func(f *schema.Field) *diag.Fault {
		end := len(r.text)
		if fault := r.inline(f.Type(), f); fault != nil {
			return fault.Field(f.Name())
		}
		copy(r.text[start+f.Offset():], r.text[end:])
		r.text = r.text[:end]
		return nil
	}
	if r.at('[') {
		n, fault := r.list(func(i int) *diag.Fault {
			if i >= len(fields) {
				return diag.NewFault(diag.TypeMismatch, r.i, fmt.Sprintf("more than %d fields", len(fields)))
			}
			return one(fields[i])
		})
		if fault == nil && n < len(fields) {
			fault = diag.NewFault(diag.MissingRequired, at, "a struct has all its fields").Field(fields[n].Name())
		}
		return fault
	}
	var seen []*schema.Field
	fault := r.object(func(name []byte, at int) *diag.Fault {
		f := d.FieldByName(string(name))
		switch {
		case f == nil && string(name) == schemaOfJSON:
			_, fault := r.str()
			return fault
		case f == nil && r.opt.unknown:
			return r.skip(0)
		case f == nil:
			return diag.NewFault(diag.UnknownField, at, d.Name()+" has no such field").Field(string(name))
		case slices.Contains(seen, f):
			return diag.NewFault(diag.DuplicateKey, at, "the field stands twice").Field(f.Name())
		}
		seen = append(seen, f)
		return one(f)
	})
	if fault != nil {
		return fault
	}
	for _, f := range fields {
		if !slices.Contains(seen, f) {
			return diag.NewFault(diag.MissingRequired, at, "a struct has all its fields").Field(f.Name())
		}
	}
	return nil
}

// any reads a value without a schema.
func (r *reader) any(depth int) (any, *diag.Fault) {
	if depth > maxDepth {
		return nil, diag.NewFault(diag.DepthLimit, r.i, fmt.Sprintf("values nest deeper than %d levels", maxDepth))
	}
	switch c := r.peek(); {
	case c == '{':
		all := map[string]any{}
		fault := r.object(func(name []byte, at int) *diag.Fault {
			key := string(name)
			if _, twice := all[key]; twice || strings.Contains(key, "\x00") {
				return diag.NewFault(diag.DuplicateKey, at, "the name stands twice, or holds a zero byte").Key(key)
			}
			x, fault := r.any(depth + 1)
			all[key] = x
			return fault
		})
		return all, fault
	case c == '[':
		list := []any{}
		_, fault := r.list(func(int) *diag.Fault {
			x, fault := r.any(depth + 1)
			list = append(list, x)
			return fault
		})
		return list, fault
	case c == '"' || c == '\'' && r.opt.lenient:
		s, fault := r.str()
		return string(s), fault
	case r.null():
		return nil, nil
	case c == 't' || c == 'f':
		bits, fault := r.number(schema.Basic(schema.Bool), nil)
		return bits != 0, fault
	}
	start := r.i
	end := start
	for end < len(r.b) && !bytes.ContainsRune([]byte(",]} \t\r\n/"), rune(r.b[end])) {
		end++
	}
	word := r.b[start:end]
	// -0 has its sign as a float only.
	if (!bytes.ContainsAny(word, ".eE") || bytes.HasPrefix(word, []byte("0x"))) && string(word) != "-0" {
		bits, fault := r.number(schema.Basic(schema.I64), nil)
		if fault == nil {
			return int64(bits), nil
		}
		r.i = start
		if bits, fault := r.number(schema.Basic(schema.U64), nil); fault == nil {
			return bits, nil
		}
		r.i = start
	}
	bits, fault := r.number(schema.Basic(schema.Double), nil)
	return math.Float64frombits(bits), fault
}
