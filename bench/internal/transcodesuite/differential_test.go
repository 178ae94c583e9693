package transcodesuite

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudwego/dynamicgo/conv"
	"github.com/cloudwego/dynamicgo/conv/j2t"
	"github.com/cloudwego/dynamicgo/conv/t2j"
	dynamic "github.com/cloudwego/dynamicgo/thrift"

	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file converts random values and damaged texts with ours and with
// dynamicgo, over the matrix of the options that both have. They agree, but
// where dynamicgo's result is one of its defects.

const differentialIDL = `
enum Color { RED = 1, GREEN = 2 }
struct Leaf {
	1: i32 number
	2: string text
}
struct Tree {
	1: i32 number
	2: list<Tree> below
}
struct Every {
	1: bool yes
	2: byte small
	3: i16 short
	4: i32 word
	5: i64 long
	6: double real
	7: string text
	8: binary bytes
	9: Color color
	10: list<i32> words
	11: list<string> texts
	12: list<Leaf> leaves
	13: set<i64> longs
	14: map<string, string> byText
	15: map<i32, Leaf> byWord
	16: map<i64, list<double>> byLong
	17: Leaf leaf
	18: optional i32 maybe
	19: optional string maybeText
	20: required i64 must
	21: optional Tree tree
	300: i16 far
	22: list<byte> smalls
	23: i64 asText (api.js_conv = "")
}
service S { void every(1: Every value) }
`

// defects are those of dynamicgo's that make it accept what ours refuses, as
// they are numbered in the tests of package transcode (peer_test.go), by the
// code of our fault.
var defects = map[diag.Code]string{
	diag.TypeMismatch: "1: the wire is not checked against the schema",
	diag.DepthLimit:   "1: nothing limits the depth",
	diag.OutOfRange:   "2: numbers are changed to fit",
	diag.TrailingData: "4: data may follow the value",
	diag.InvalidData:  "4: raw control characters and what is not UTF-8 pass",
	diag.DuplicateKey: "4: what stands twice is written twice",
	diag.Syntax:       "4: parts of the text are not looked at",
}

// both has the compiled type on either side.
type both struct {
	def  *schema.StructDef
	desc *dynamic.TypeDescriptor
}

func compileBoth(t *testing.T) both {
	t.Helper()
	file, list := thriftidl.Load("d.thrift", thriftidl.Sources(map[string][]byte{"d.thrift": []byte(differentialIDL)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	service, err := dynamic.Options{SetOptionalBitmap: true}.NewDescritorFromContent(context.Background(), "d.thrift", differentialIDL, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := service.LookupFunctionByMethod("every")
	if err != nil {
		t.Fatal(err)
	}
	return both{file.Struct("Every"), m.Request().Struct().FieldById(1).Type()}
}

// option is an option that both sides have.
type option struct {
	name string
	ours []transcode.Option
	set  func(*conv.Options)
}

// matrix has every subset of the options.
func matrix(all []option) (names []string, ours [][]transcode.Option, theirs []conv.Options) {
	for subset := range 1 << len(all) {
		var name []string
		var our []transcode.Option
		var their conv.Options
		for i, o := range all {
			if subset>>i&1 != 0 {
				name = append(name, o.name)
				our = append(our, o.ours...)
				o.set(&their)
			}
		}
		names, ours, theirs = append(names, strings.Join(name, "+")), append(ours, our), append(theirs, their)
	}
	return names, ours, theirs
}

func absent(which schema.Requiredness) []transcode.Option {
	return []transcode.Option{transcode.WriteAbsent(which)}
}

var (
	rawBinary    = option{"raw-binary", []transcode.Option{transcode.RawBinary()}, func(o *conv.Options) { o.NoBase64Binary = true }}
	writeDefault = option{"write-default", absent(schema.Default), func(o *conv.Options) { o.WriteDefaultField = true }}
	writeOption  = option{"write-optional", absent(schema.Optional), func(o *conv.Options) { o.WriteOptionalField = true }}
	writeMust    = option{"write-required", absent(schema.Required), func(o *conv.Options) { o.WriteRequireField = true }}
	refuse       = option{"reject-unknown", []transcode.Option{transcode.RejectUnknown()}, func(o *conv.Options) { o.DisallowUnknownField = true }}
	textNumbers  = option{"text-numbers", []transcode.Option{transcode.NumberStrings(), transcode.EmptyNumbers()}, func(o *conv.Options) { o.String2Int64 = true }}
	textLongs    = option{"text-longs", []transcode.Option{transcode.Int64Strings()}, func(o *conv.Options) { o.Int642String = true }}
	unsigned     = option{"unsigned-bytes", []transcode.Option{transcode.Unsigned8()}, func(o *conv.Options) { o.ByteAsUint8 = true }}
	mapping      = option{"js-conv", []transcode.Option{transcode.ValueCodecs(transcode.AnnotatedCodec)}, func(o *conv.Options) { o.EnableValueMapping = true }}
	nulls        = option{"null-for-nan", []transcode.Option{transcode.NonFinite(transcode.NonFiniteNull)}, func(o *conv.Options) { o.EncodeNullJSONForInfOrNan = true }}
)

// maker makes random JSON of a type.
type maker struct {
	*rand.Rand
	o     *conv.Options
	depth int
	nan   bool // also makes what is no number
}

var numbers = map[schema.Kind]int{schema.I8: 8, schema.I16: 16, schema.I32: 32, schema.I64: 64}

func (m *maker) integer(bits int) string {
	return strconv.FormatInt(int64(m.Uint64())>>(64-bits)>>m.IntN(bits), 10)
}

func (m *maker) text() string {
	const letters = "abc xyz/\\\"\n\t\u00e9\u4e16\U0001f600\u2028<>&"
	all := []rune(letters)
	var b strings.Builder
	for range m.IntN(40) {
		b.WriteRune(all[m.IntN(len(all))])
	}
	return b.String()
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (m *maker) value(t *schema.Type) string {
	switch kind := t.Kind(); kind {
	case schema.Bool:
		return strconv.FormatBool(m.IntN(2) == 0)
	case schema.I8, schema.I16, schema.I32, schema.I64:
		n := m.integer(numbers[kind])
		if m.o.String2Int64 && m.IntN(4) == 0 {
			return quoted(n)
		}
		return n
	case schema.Enum:
		return strconv.Itoa(1 + m.IntN(2))
	case schema.Double:
		if m.nan && m.IntN(4) == 0 {
			return []string{`"NaN"`, `"Infinity"`, `"-Infinity"`}[m.IntN(3)]
		}
		v := math.Float64frombits(m.Uint64())
		for v-v != 0 {
			v = m.NormFloat64()
		}
		if m.IntN(2) == 0 {
			v = float64(m.IntN(1e6)) / 1000
		}
		b, _ := json.Marshal(v)
		return string(b)
	case schema.String:
		return quoted(m.text())
	case schema.Binary:
		if m.o.NoBase64Binary {
			return quoted(m.text())
		}
		return quoted(base64.StdEncoding.EncodeToString([]byte(m.text())))
	case schema.List, schema.Set, schema.Map:
		open, end := "[", "]"
		if kind == schema.Map {
			open, end = "{", "}"
		}
		var parts []string
		seen := map[string]bool{}
		size := m.IntN(20)
		if m.depth == 0 {
			size = 0
		}
		for range size {
			part := m.value(t.Elem())
			key := part
			if kind == schema.Map {
				if key = quoted(m.text()); t.Key().Kind() != schema.String {
					key = quoted(m.integer(numbers[t.Key().Kind()]))
				}
				part = key + ":" + part
			}
			if key = strings.Trim(key, `"`); kind == schema.List || !seen[key] {
				parts = append(parts, part)
				seen[key] = true
			}
		}
		return open + strings.Join(parts, ",") + end
	}
	return m.object(t.Struct())
}

func (m *maker) object(d *schema.StructDef) string {
	var parts []string
	fields := d.Fields()
	for _, i := range m.Perm(len(fields)) {
		f := fields[i]
		t := f.Type()
		if (f.Requiredness() != schema.Required || m.o.WriteRequireField) && m.IntN(4) == 0 {
			continue
		}
		// dynamicgo does not take null for absent where absent fields are written,
		// nor for fields with a mapped value.
		if m.IntN(20) == 0 && f.Requiredness() != schema.Required && !m.o.WriteDefaultField && !m.o.WriteOptionalField && !f.Annotations().Has("api.js_conv") {
			parts = append(parts, quoted(f.Name())+":null")
			continue
		}
		m.depth--
		parts = append(parts, quoted(f.Name())+":"+m.value(t))
		m.depth++
	}
	if !m.o.DisallowUnknownField && m.IntN(4) == 0 {
		parts = append(parts, `"unknown":`+[]string{"1", `"a"`, "[1,[]]", `{"a":{"b":null}}`, "true"}[m.IntN(5)])
	}
	space := []string{"", " ", "\n\t"}[m.IntN(3)]
	return "{" + space + strings.Join(parts, ","+space) + space + "}"
}

func TestJSONBecomesTheSameThriftAsWithDynamicgo(t *testing.T) {
	b := compileBoth(t)
	names, ours, theirs := matrix([]option{textNumbers, rawBinary, writeDefault, writeOption, writeMust, refuse, mapping})
	for i, name := range names {
		c, err := transcode.New(b.def, ours[i]...)
		if err != nil {
			t.Fatal(err)
		}
		d := j2t.NewBinaryConv(theirs[i])
		m := maker{Rand: rand.New(rand.NewPCG(1, uint64(i))), o: &theirs[i], depth: 4}
		for range 8 {
			text := []byte(m.value(b.def.Type()))
			us, err := c.AppendThrift(nil, text)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, text, err)
			}
			them, err := d.Do(context.Background(), b.desc, bytes.Clone(text))
			if err != nil {
				t.Fatalf("%s: dynamicgo: %s: %v", name, text, err)
			}
			x, errX := same.Message(us)
			y, errY := same.Message(them)
			if errX != nil || errY != nil || !bytes.Equal(x, y) {
				t.Fatalf("%s: %s\nbecomes %s (%v)\nand     %s (%v)", name, text, b.shown(t, us), errX, b.shown(t, them), errY)
			}
		}
	}
}

func TestThriftBecomesTheSameJSONAsWithDynamicgo(t *testing.T) {
	b := compileBoth(t)
	write, err := transcode.New(b.def, transcode.AllowMissing(), transcode.NonFinite(transcode.NonFiniteStrings))
	if err != nil {
		t.Fatal(err)
	}
	names, ours, theirs := matrix([]option{textLongs, rawBinary, unsigned, nulls, writeDefault, writeOption, writeMust, refuse, mapping})
	for i, name := range names {
		c, err := transcode.New(b.def, append(ours[i], transcode.EnumNumbers())...) // dynamicgo knows no names
		if err != nil {
			t.Fatal(err)
		}
		d := t2j.NewBinaryConv(theirs[i])
		made := conv.Options{WriteRequireField: theirs[i].WriteRequireField}
		m := maker{Rand: rand.New(rand.NewPCG(2, uint64(i))), o: &made, depth: 4, nan: theirs[i].EncodeNullJSONForInfOrNan}
		for range 10 {
			message, err := write.AppendThrift(nil, []byte(m.value(b.def.Type())))
			if err != nil {
				t.Fatal(err)
			}
			if !theirs[i].DisallowUnknownField {
				message = append(message[:len(message)-1], 11, 3, 231, 0, 0, 0, 1, 'a', 0) // field 999, a string
			}
			us, _, err := c.AppendJSON(nil, message)
			if err != nil {
				t.Fatalf("%s: %x: %v", name, message, err)
			}
			them, err := d.Do(context.Background(), b.desc, message)
			if err != nil {
				t.Fatalf("%s: dynamicgo: %x: %v", name, message, err)
			}
			if x, y := plain(us), plain(them); x != y {
				t.Fatalf("%s: %x\nbecomes %s\nand     %s", name, message, x, y)
			}
		}
	}
}

// A text in which a few bytes were changed: both refuse it, or both make the
// same of it, or dynamicgo takes it because of a defect.
func TestDamagedJSONDiffersFromDynamicgoByItsDefectsOnly(t *testing.T) {
	b := compileBoth(t)
	names, ours, theirs := matrix([]option{textNumbers, rawBinary, refuse})
	for i, name := range names {
		c, err := transcode.New(b.def, ours[i]...)
		if err != nil {
			t.Fatal(err)
		}
		d := j2t.NewBinaryConv(theirs[i])
		m := maker{Rand: rand.New(rand.NewPCG(3, uint64(i))), o: &theirs[i], depth: 2}
		for range 250 {
			text := []byte(m.value(b.def.Type()))
			for range 1 + m.IntN(2) {
				m.damage(text)
			}
			us, err := c.AppendThrift(nil, text)
			them, theirErr := d.Do(context.Background(), b.desc, bytes.Clone(text))
			switch {
			case err == nil && theirErr == nil:
				x, errX := same.Message(us)
				y, errY := same.Message(them)
				if errX != nil || errY != nil || !bytes.Equal(x, y) {
					t.Errorf("%s: %s\nbecomes %s (%v)\nand     %s (%v)", name, text, b.shown(t, us), errX, b.shown(t, them), errY)
				}
			case err != nil && theirErr == nil:
				if defects[diag.CodeOf(err)] == "" {
					t.Errorf("%s: %s: dynamicgo takes it, ours: %v", name, text, err)
				}
			case err == nil && theirErr != nil:
				t.Errorf("%s: %s: ours takes it, dynamicgo: %v", name, text, theirErr)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// damage changes a byte of text.
func (m *maker) damage(text []byte) {
	const bytes = "{}[],:\"\\019.-+eE \x00\x80antfu"
	text[m.IntN(len(text))] = bytes[m.IntN(len(bytes))]
}

// shown renders a message for people.
func (b both) shown(t *testing.T, message []byte) string {
	c, err := transcode.New(b.def, transcode.AllowMissing(), transcode.AllowDuplicates(), transcode.LossyText())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := c.AppendJSON(nil, message)
	if err != nil {
		return fmt.Sprintf("%x: %v", message, err)
	}
	return plain(out)
}

// plain renders JSON with sorted members and exact numbers.
func plain(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("%v in %s", err, text)
	}
	out, err := json.Marshal(exact(v))
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return "no number: " + string(v)
		}
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}
