package interop

// FlatBuffers' compiler as the oracle for transcode/flatjson: JSON that either
// writes means the same to the other, and both refuse the same.

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// flatcJSON is flatc between messages and JSON of one schema.
type flatcJSON struct{ compiler, schema, dir string }

// message returns the message that flatc makes of JSON.
func (f *flatcJSON) message(t *testing.T, text string) (message []byte, ok bool) {
	t.Helper()
	in := filepath.Join(f.dir, "in.json")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(f.compiler, "-b", "-I", filepath.Join(filepath.Dir(f.schema), "include_test"), "-o", f.dir, f.schema, in)
	if cmd.Run() != nil {
		return nil, false
	}
	made, err := filepath.Glob(filepath.Join(f.dir, "in.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range made { // the schema chooses the extension
		if name == in {
			continue
		}
		if message, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		os.Remove(name)
	}
	return message, message != nil
}

// text returns the JSON that flatc makes of a message.
func (f *flatcJSON) text(t *testing.T, message []byte) string {
	t.Helper()
	in := filepath.Join(f.dir, "out.bin")
	if err := os.WriteFile(in, message, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(f.compiler, "--json", "--strict-json", "--raw-binary",
		"-I", filepath.Join(filepath.Dir(f.schema), "include_test"), "-o", f.dir, f.schema, "--", in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(f.dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// agree checks that both make the same of JSON.
func (f *flatcJSON) agree(t *testing.T, c *flatjson.Converter, in string) {
	t.Helper()
	theirs, ok := f.message(t, in)
	ours, err := c.AppendMessage(nil, []byte(in))
	if ok != (err == nil) {
		t.Errorf("%s: flatc takes it: %v, here %v", in, ok, err)
	}
	if !ok || err != nil {
		return
	}
	if a, b := f.text(t, ours), f.text(t, theirs); a != b {
		t.Errorf("%s\nours as flatc reads it\n%s\nflatc's own\n%s", in, a, b)
	}
	a, err := c.AppendJSON(nil, theirs)
	if err != nil {
		t.Errorf("%s: flatc's message: %v", in, err)
		return
	}
	if got, ok := plainJSON(a); !ok {
		t.Errorf("%s: our JSON of flatc's message is none: %s", in, a)
	} else if want, ok := plainJSON([]byte(f.text(t, theirs))); ok && !sameJSON(got, want) { // flatc's has inf and nan as they are
		t.Errorf("%s\nour JSON of flatc's message\n%s\nflatc's own\n%s", in, a, f.text(t, theirs))
	}
	back, err := c.AppendMessage(nil, a)
	if err != nil {
		t.Errorf("%s: %v", a, err)
		return
	}
	if a, b := f.text(t, back), f.text(t, theirs); a != b {
		t.Errorf("%s\nby our JSON of flatc's message\n%s\nflatc's own\n%s", in, a, b)
	}
}

func plainJSON(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// sameJSON compares values, numbers as far as flatc writes their digits.
func sameJSON(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && len(x) == len(y) && !slices.ContainsFunc(slices.Collect(maps.Keys(x)), func(name string) bool {
			v, ok := y[name]
			return !ok || !sameJSON(x[name], v)
		})
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameJSON)
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || x == y {
			return ok
		}
		f, err := x.Float64()
		g, err2 := y.Float64()
		return err == nil && err2 == nil && strings.ContainsAny(string(x+y), ".e") && math.Abs(f-g) <= 1e-5*math.Abs(f)
	}
	return a == b
}

func newFlatJSON(t *testing.T, schema string) (*flatcJSON, *flatjson.Converter) {
	t.Helper()
	f := &flatcJSON{flatc(t), schema, t.TempDir()}
	file, list := fbsidl.Load(schema, fbsidl.IncludeDirs(filepath.Join(filepath.Dir(schema), "include_test")))
	if file == nil {
		t.Fatal(list.Err())
	}
	c, err := flatjson.New(file.Root(), flatjson.Lenient())
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func TestFlatcReadsAndWritesTheSameJSON(t *testing.T) {
	schema, err := filepath.Abs("../conform/fbs/every.fbs")
	if err != nil {
		t.Fatal(err)
	}
	f, c := newFlatJSON(t, schema)
	for _, json := range []string{
		// Taken by both.
		`{s:"x"}`, `{"s":"x", "b":false, "i16":-7, "opt":0}`, `{s:"x", b:true, i8:-128, u8:255, u32:0xffffffff, i32:-0x10}`,
		`{s:"x", i64:-9223372036854775808, u64:18446744073709551615, d:0.5, f:-.5, doubles:[1, 2.5, 1e3]}`,
		`{s:"x", color:"Red Blue", mood:Sad, moods:[Sad,"Glad",4]}`, `{s:"x", color:9, mood:3}`, `{s:"x", color:16, mood:7}`,
		`{s:"x", i8:"12", u64:"18446744073709551615", d:"1.5", b:"false", u8:"0x10"}`,
		`{s:"x", point:{y:2,x:1}}`, `{s:"x", point:[1,2]}`, `{s:"x", box:{from:{x:1,y:2},marks:[1,2,3],mood:"Glad",id:4}}`,
		`{s:"x", boxes:[{from:[1,2],marks:[1,2,3],mood:0,id:4},{from:[3,4],marks:[4,5,6],mood:Sad,id:1}]}`,
		`{s:"x", thing_type:"Other", thing:{name:"a"}}`, `{s:"x", thing:{x:1,y:2}, thing_type:Point}`, `{s:"x", thing_type:3, thing:{x:1,y:2}}`,
		`{s:"x", thing_type:Text, thing:"words"}`, `{s:"x", thing_type:NONE}`,
		`{s:"x", things_type:[Item,Text,Point], things:[{name:"q"},"words",{x:1,y:2}]}`,
		`{s:"x", items:[{name:"b"},{name:"a",price:1}], numbered:[{id:3},{},{id:2}]}`,
		`{s:"x", texts:["","a\n\t\"\\\/\u00e9\ud83d\ude00\x41"], bytes:[1,2], shorts:[], lacking:"there"}`,
		`{s:"x", self:{s:"y", self:{s:"z", i8:1}}}`, `{s:"x", nested:{name:"in", price:2}}`,
		`{s:"x", flex:{a:[1,2.5,"x",null,true],b:-1}}`, `{s:"x", h:"hello", ha:"hello", h64:"hello"}`, `{s:"x", h:5}`,
		"{ // first\n s: 'x' /* then */ , i8: 3 }", `{s:"x", d:cos(rad(180)), f:nan}`, `{s:"x", f:inf, d:-inf}`, `{s:"x", item:null, opt:null}`,
		`{"$schema":"there", s:"x", point:{"$schema":"a", x:1, y:2}}`, `{s:"x", item:["n", 1.5, "Red"], items:[["b", 1, 2], {name:"a"}]}`,
		`{s:"x", thing_type:Item, thing:["n", 1, "Blue"], numbered:[[4],[]]}`,
		`{s:"x", i8:" 12 ", d:"-nan", h:hello, thing_type:"3", thing:[1, 2]}`, `{s:"x", thing:null, things_type:null, things:null}`,
		// Refused by both.
		`{s:"x", d:"1_0"}`, `{s:"x", u8:0x_f}`,
		`{"$schema":3, s:"x"}`, `{s:"x", item:["n", 1.5]}`, `{s:"x", item:["n", 1.5, "Red", 1]}`, `{s:"x", nested:["n", 1.5, "Red"]}`,
		``, `{}`, `[1]`, `{s:"x"} x`, `{s:"x", s:"y"}`, `{s:"x", zzz:3}`, `{s:"x", i8:200}`, `{s:"x", u8:-1}`, `{s:"x", i32:1.5}`,
		`{s:"x", mood:"Bad"}`, `{s:"x", u8:"abc"}`, `{s:3}`, `{s:"x", i8:true}`, `{s:"x", point:{y:2}}`, `{s:"x", box:{from:[1,2],marks:[1,2],mood:1,id:1}}`,
		`{s:"x", thing:{x:1,y:2}}`, `{s:"x", thing_type:No, thing:{}}`, `{s:"x", texts:["a",null]}`, `{s:"x", item:{}}`, `{s:"x" i8:4}`,
		`{s:"x", bytes:"aGk="}`, "{s:\"\xff\"}", `{s:"x`, `{s:"\q"}`, `{s:"x", nested:[1,2,3]}`, `{s:"\ud800"}`, `{s:"x", flex:{a:1,}`,
	} {
		f.agree(t, c, json)
	}
}

func TestFlatcsMonsterMeansTheSame(t *testing.T) {
	root, _ := googleSchemas(t)
	dir := filepath.Join(root, "tests")
	json, err := os.ReadFile(filepath.Join(dir, "monsterdata_test.json"))
	if err != nil {
		t.Skip("FlatBuffers' schemas here come without their messages")
	}
	f, c := newFlatJSON(t, filepath.Join(dir, "monster_test.fbs"))
	f.agree(t, c, string(json))
}

func TestMessagesInsideOthersStandWhereFlatcPutsThem(t *testing.T) {
	for _, inner := range []string{"a: byte", "a: int", "a: long", "a: string", "a: [long]", "a: [byte] (force_align: 32)", "a: S"} {
		schema := "struct S (force_align: 16) { a: int; } table In { " + inner + "; } table T { pad: byte; in: [ubyte] (nested_flatbuffer: \"In\"); } root_type T;"
		path := filepath.Join(t.TempDir(), "t.fbs")
		if err := os.WriteFile(path, []byte(schema), 0o600); err != nil {
			t.Fatal(err)
		}
		f, c := newFlatJSON(t, path)
		value := "5"
		switch {
		case strings.Contains(inner, "["):
			value = "[5]"
		case strings.HasSuffix(inner, "string"):
			value = `"five"`
		case strings.HasSuffix(inner, "S"):
			value = `{"a": 5}`
		}
		text := `{"pad": 1, "in": {"a": ` + value + `}}`
		theirs, ok := f.message(t, text)
		ours, err := c.AppendMessage(nil, []byte(text))
		if !ok || err != nil {
			t.Fatalf("%s: %t, %v", inner, ok, err)
		}
		if len(ours) != len(theirs) {
			t.Errorf("%s: %d bytes, flatc has %d", inner, len(ours), len(theirs))
		}
	}
}
