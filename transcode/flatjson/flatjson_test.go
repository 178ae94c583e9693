package flatjson_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/conform/fbs"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
)

func load(t testing.TB, text string) *schema.File {
	t.Helper()
	file, list := fbsidl.Load("every.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"every.fbs": []byte(text)}))
	if file == nil {
		t.Fatal(list.Err())
	}
	return file
}

func converter(t testing.TB, opts ...flatjson.Option) *flatjson.Converter {
	t.Helper()
	c, err := flatjson.New(load(t, fbs.Every()).Root(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// there converts JSON to a message and back.
func there(c *flatjson.Converter, json string) (string, error) {
	b, err := c.AppendMessage(nil, []byte(json))
	if err != nil {
		return "", err
	}
	back, err := c.AppendJSON(nil, b)
	return string(back), err
}

func TestStandardJSONMeansWhatFlatcTakesItFor(t *testing.T) {
	c := converter(t)
	for in, want := range map[string]string{
		`{"s":"x"}`:                                 `{"s":"x"}`,
		` { "s" : "x" , "b" : false } `:             `{"b":false,"s":"x"}`,
		`{"s":"x","b":1,"i16":-7,"f":1.5,"mood":4}`: `{"s":"x"}`,
		`{"s":"x","opt":0}`:                         `{"opt":0,"s":"x"}`,
		`{"s":"x","i8":-128,"u64":18446744073709551615,"i64":-9223372036854775808}`:                                         `{"i8":-128,"i64":-9223372036854775808,"u64":18446744073709551615,"s":"x"}`,
		`{"s":"x","i32":"12","u64":"18446744073709551615","d":"1.5","b":"false"}`:                                           `{"b":false,"i32":12,"u64":18446744073709551615,"d":1.5,"s":"x"}`,
		`{"s":"x","d":"nan","f":"-inf"}`:                                                                                    `{"f":"-inf","d":"nan","s":"x"}`,
		`{"s":"x","f":1.1,"d":0.1,"doubles":[1e100,1e-7,1]}`:                                                                `{"f":1.1,"d":0.1,"s":"x","doubles":[1e+100,1e-7,1]}`,
		`{"s":"x","color":"Red Blue","mood":"Sad"}`:                                                                         `{"color":"Red Blue","mood":"Sad","s":"x"}`,
		`{"s":"x","color":16,"mood":3,"moods":["Glad",-1,"Mood.Calm",9]}`:                                                   `{"color":16,"mood":3,"s":"x","moods":["Glad","Sad","Calm",9]}`,
		`{"s":"x","point":{"y":2,"x":1}}`:                                                                                   `{"s":"x","point":{"x":1,"y":2}}`,
		`{"s":"x","point":[1,2]}`:                                                                                           `{"s":"x","point":{"x":1,"y":2}}`,
		`{"s":"x","box":{"from":{"x":1,"y":2},"marks":[1,2,3],"mood":"Glad","id":4}}`:                                       `{"s":"x","box":{"from":{"x":1,"y":2},"marks":[1,2,3],"mood":"Glad","id":4}}`,
		`{"s":"x","thing_type":"Other","thing":{"name":"a"}}`:                                                               `{"s":"x","thing_type":"Other","thing":{"name":"a"}}`,
		`{"s":"x","thing":{"x":1,"y":2},"i8":1,"thing_type":"Point"}`:                                                       `{"i8":1,"s":"x","thing_type":"Point","thing":{"x":1,"y":2}}`,
		`{"s":"x","thing_type":3,"thing":{"x":1,"y":2}}`:                                                                    `{"s":"x","thing_type":"Point","thing":{"x":1,"y":2}}`,
		`{"s":"x","thing_type":"NONE"}`:                                                                                     `{"s":"x"}`,
		`{"s":"x","things":[{"name":"q"},null,"words"],"things_type":["Item","NONE","Text"]}`:                               `{"s":"x","things_type":["Item","NONE","Text"],"things":[{"name":"q"},null,"words"]}`,
		`{"s":"x","nested":{"name":"in"},"flex":{"b":[1,2.5,"x",null,true,-1],"a":18446744073709551615}}`:                   `{"s":"x","nested":{"name":"in"},"flex":{"a":18446744073709551615,"b":[1,2.5,"x",null,true,-1]}}`,
		`{"$schema":"a","s":"x","point":{"x":1,"$schema":"b","y":2}}`:                                                       `{"s":"x","point":{"x":1,"y":2}}`,
		`{"s":"x","item":["n",1.5,"Red"],"items":[["b",1,2],{"name":"a"}]}`:                                                 `{"s":"x","item":{"name":"n","price":1.5,"color":"Red"},"items":[{"name":"a"},{"name":"b","price":1}]}`,
		`{"s":"x","thing_type":"Item","thing":["n",1,"Blue"]}`:                                                              `{"s":"x","thing_type":"Item","thing":{"name":"n","price":1,"color":"Blue"}}`,
		`{"s":"x","h":"hello"}`:                                                                                             `{"s":"x","h":1335831723}`,
		`{"s":"x","i8":" 12 ","d":"-nan","thing_type":"3","thing":[1,2]}`:                                                   `{"i8":12,"d":"nan","s":"x","thing_type":"Point","thing":{"x":1,"y":2}}`,
		`{"s":"x","thing_type":null,"thing":null,"things_type":null}`:                                                       `{"s":"x"}`,
		`{"s":"x","item":null,"i8":null}`:                                                                                   `{"s":"x"}`,
		`{"s":"x","items":[{"name":"b"},{"name":"a","price":1}],"numbered":[{"id":3},{},{"id":2}]}`:                         `{"s":"x","items":[{"name":"a","price":1},{"name":"b"}],"numbered":[{"id":0},{"id":2},{"id":3}]}`,
		`{"s":"a\u00e9\n\ud83d\ude00\/","texts":["","\t"],"bytes":[],"shorts":[1,-1]}`:                                      `{"s":"aé\n😀/","bytes":[],"shorts":[1,-1],"texts":["","\t"]}`,
		`{"s":"x","self":{"s":"y","self":{"s":"z"}},"far":"away","wide":[1,2]}`:                                             `{"s":"x","self":{"s":"y","self":{"s":"z"}},"far":"away","wide":[1,2]}`,
		`{"s":"x","boxes":[{"from":[1,2],"marks":[0,0,0],"mood":0,"id":7},{"from":[1,2],"marks":[0,0,0],"mood":0,"id":3}]}`: `{"s":"x","boxes":[{"from":{"x":1,"y":2},"marks":[0,0,0],"mood":"Calm","id":3},{"from":{"x":1,"y":2},"marks":[0,0,0],"mood":"Calm","id":7}]}`,
	} {
		got, err := there(c, in)
		if err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, got, err, want)
			continue
		}
		if again, err := there(c, got); err != nil || again != got {
			t.Errorf("%s comes back as %s, %v", got, again, err)
		}
	}
}

func TestLenientReadsWhatFlatcReads(t *testing.T) {
	c := converter(t, flatjson.Lenient())
	for in, want := range map[string]string{
		`{s:'x', b:false, mood:Sad, color:"Red Blue",}`:                           `{"b":false,"color":"Red Blue","mood":"Sad","s":"x"}`,
		"{ // first\n s: \"a\\x41\\'\" /* then */ , i32: -0x10, u8:0XfF, i8:+5 }": `{"i8":5,"u8":255,"i32":-16,"s":"aA'"}`,
		`{s:"x", d:.5, f:5.}`:                                 `{"f":5,"d":0.5,"s":"x"}`,
		`{s:"x", d:nan, f:-inf}`:                              `{"f":"-inf","d":"nan","s":"x"}`,
		`{s:"x", d:cos(rad(180)), f:sin(0)}`:                  `{"f":0,"d":-1,"s":"x"}`,
		`{s:"x", things:['w',{}], things_type:[Text,NONE,],}`: `{"s":"x","things_type":["Text","NONE"],"things":["w",null]}`,
		"\ufeff{s:'x'}":                                       `{"s":"x"}`,
		`{s:"x", h:hello}`:                                    `{"s":"x","h":1335831723}`,
		`{s:"x", flex:{a:[1,'b'],c:null}}`:                    `{"s":"x","flex":{"a":[1,"b"],"c":null}}`,
		`{thing:'w', self:{s:"{\"}", thing_type:NONE}, thing_type:Text, s:"\u0041"}`: `{"s":"A","thing_type":"Text","thing":"w","self":{"s":"{\"}"}}`,
	} {
		got, err := there(c, in)
		if err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, got, err, want)
		}
		if _, err := there(converter(t), in); diag.CodeOf(err) == 0 {
			t.Errorf("%s is taken for standard JSON", in)
		}
	}
}

func TestOptionsChangeWhatIsWritten(t *testing.T) {
	const in = `{"s":"x","mood":"Sad"}`
	for name, c := range map[string]struct {
		opts []flatjson.Option
		want string
	}{
		"numbers":  {[]flatjson.Option{flatjson.EnumNumbers()}, `{"mood":-1,"s":"x"}`},
		"prefixed": {[]flatjson.Option{flatjson.SizePrefixed()}, `{"mood":"Sad","s":"x"}`},
		"trusted":  {[]flatjson.Option{flatjson.Trusted()}, `{"mood":"Sad","s":"x"}`},
		"defaults": {[]flatjson.Option{flatjson.WriteDefaults()}, `{"b":true,"i8":0,"u8":0,"i16":-7,"u16":0,"i32":0,"u32":0,"i64":0,"u64":0,"f":1.5,"d":0,"opt":null,"color":"Green","mood":"Sad","s":"x","lacking":"none","h":0,"ha":0,"h64":0}`},
	} {
		got, err := there(converter(t, c.opts...), in)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, c.want)
		}
	}
	if got, err := there(converter(t, flatjson.SkipUnknown()), `{"new":{"a":[1]},"s":"x","point":{"x":1,"z":0,"y":1}}`); got != `{"s":"x","point":{"x":1,"y":1}}` || err != nil {
		t.Error(got, err)
	}
}

func TestFaultsSayWhereAndWhat(t *testing.T) {
	strict, loose := converter(t), converter(t, flatjson.Lenient())
	for in, want := range map[string]struct {
		code   diag.Code
		offset int
		path   string
	}{
		`{}`:                                       {diag.MissingRequired, 0, "s"},
		``:                                         {diag.UnexpectedEOF, 0, ""},
		`[1]`:                                      {diag.TypeMismatch, 0, ""},
		`{"s":"x"} x`:                              {diag.TrailingData, 10, ""},
		`{"s":"x","s":"y"}`:                        {diag.DuplicateKey, 9, "s"},
		`{"s":"x","zzz":3}`:                        {diag.UnknownField, 9, "zzz"},
		`{"s":"x","i8":200}`:                       {diag.OutOfRange, 14, "i8"},
		`{"s":"x","u8":-1}`:                        {diag.OutOfRange, 14, "u8"},
		`{"s":"x","i32":1.5}`:                      {diag.TypeMismatch, 15, "i32"},
		`{"s":"x","b":2}`:                          {diag.OutOfRange, 13, "b"},
		`{"s":"x","f":1e300}`:                      {diag.OutOfRange, 13, "f"},
		`{"s":"x","mood":"Bad"}`:                   {diag.UnknownEnum, 16, "mood"},
		`{"s":"x","mood":"Sad Glad"}`:              {diag.UnknownEnum, 16, "mood"},
		`{"s":"x","u8":"abc"}`:                     {diag.TypeMismatch, 14, "u8"},
		`{"s":3}`:                                  {diag.TypeMismatch, 5, "s"},
		`{"s":"x","d":"1_0"}`:                      {diag.TypeMismatch, 13, "d"},
		`{"s":"x","u8":"0x_f"}`:                    {diag.TypeMismatch, 14, "u8"},
		`{"s":"x","i8":true}`:                      {diag.TypeMismatch, 14, "i8"},
		`{"s":"x","point":{"y":2}}`:                {diag.MissingRequired, 17, "point.x"},
		`{"s":"x","box":{"marks":[1,2]}}`:          {diag.OutOfRange, 24, "box.marks"},
		`{"s":"x","thing":{"x":1,"y":2}}`:          {diag.InvalidUnion, 17, "thing"},
		`{"s":"x","thing_type":"Item"}`:            {diag.InvalidUnion, 22, "thing"},
		`{"s":"x","thing_type":"No","thing":{}}`:   {diag.InvalidUnion, 22, "thing"},
		`{"s":"x","thing_type":"NONE","thing":{}}`: {diag.InvalidUnion, 37, "thing"},
		`{"s":"x","things_type":["Text"],"things":[]}`:              {diag.InvalidUnion, 43, "things"},
		`{"s":"x","things_type":[],"things":["a"]}`:                 {diag.InvalidUnion, 36, "things[0]"},
		`{"s":"x","texts":["a",null]}`:                              {diag.TypeMismatch, 22, "texts[1]"},
		`{"s":"x","item":{}}`:                                       {diag.MissingRequired, 16, "item.name"},
		`{"s":"x","items":[{"name":"a"},{"name":"b","price":"q"}]}`: {diag.TypeMismatch, 51, "items[1].price"},
		`{"s":"x" "i8":4}`:                                          {diag.Syntax, 9, ""},
		`{"s":"x",}`:                                                {diag.Syntax, 9, ""},
		"{\"s\":\"\xff\"}":                                          {diag.Syntax, 5, "s"},
		`{"s":"x`:                                                   {diag.UnexpectedEOF, 7, "s"},
		`{"s":"x","flex":{"a":1,"a":2}}`:                            {diag.DuplicateKey, 23, `flex[a]`},
		`{"s":"x","item":["n",1]}`:                                  {diag.MissingRequired, 16, "item.color"},
		`{"s":"x","item":["n",1,0,1]}`:                              {diag.TypeMismatch, 25, "item"},
		`{"s":"x","nested":[1]}`:                                    {diag.TypeMismatch, 18, "nested"},
		`{"s":"x","$schema":1}`:                                     {diag.TypeMismatch, 19, ""},
		`{"s":"x","nested":{"price":1}}`:                            {diag.MissingRequired, 18, "nested.name"},
	} {
		for _, c := range []*flatjson.Converter{strict, loose} {
			if c == loose && (strings.Contains(in, ",}") || strings.Contains(in, "\xff") || strings.HasSuffix(in, `"x`)) {
				continue // read, or found elsewhere
			}
			out, err := c.AppendMessage([]byte("kept"), []byte(in))
			fault, _ := err.(*diag.Fault)
			if fault == nil || fault.Code != want.code || fault.Offset != want.offset || fault.Path() != want.path || string(out) != "kept" {
				t.Errorf("%s: %v (lenient: %v)", in, err, c == loose)
			}
		}
	}
}

func TestNestingIsLimited(t *testing.T) {
	deep := strings.Repeat(`{"s":"","self":`, 70) + `{"s":""}` + strings.Repeat("}", 70)
	flex := `{"s":"","flex":` + strings.Repeat("[", 100000)
	for _, opts := range [][]flatjson.Option{nil, {flatjson.Lenient()}} {
		c := converter(t, opts...)
		for _, in := range []string{deep, flex} {
			if _, err := c.AppendMessage(nil, []byte(in)); diag.CodeOf(err) != diag.DepthLimit {
				t.Error(err)
			}
		}
		if _, err := c.AppendMessage(nil, []byte(`{"s":"","thing":`+strings.Repeat("[", 100000))); err == nil {
			t.Error("no error")
		}
	}
	if _, err := there(converter(t, flatjson.MaxOutput(20)), `{"s":"x","texts":["aaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbbbbbb","c"]}`); diag.CodeOf(err) != diag.SizeLimit {
		t.Error(err)
	}
}

func TestMessagesThatAreNotWholeAreRefused(t *testing.T) {
	c := converter(t)
	b, err := c.AppendMessage(nil, []byte(`{"s":"x","items":[{"name":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) - 3 {
		if out, err := c.AppendJSON([]byte("kept"), b[:n]); err == nil || string(out) != "kept" {
			t.Errorf("%d bytes of %d: %s, %v", n, len(b), out, err)
		}
	}
	newer := load(t, "table A { a: int; } table B { b: int; } union U { A, B } table Every { u: U; } root_type Every;")
	older := load(t, "table A { a: int; } union U { A } table Every { u: U; } root_type Every;")
	b, err = flatbuffers.Make(newer.Root(), map[string]any{"u": flatbuffers.Union{Member: "B", Value: map[string]any{"b": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err = flatjson.New(older.Root())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AppendJSON(nil, b); diag.CodeOf(err) != diag.InvalidUnion {
		t.Error(err)
	}
}

func TestBuildWritesToTheCallersBuilder(t *testing.T) {
	c := converter(t)
	var b flatbuf.Builder
	root, err := c.Build(&b, []byte(`{"s":"x","i8":3}`))
	if err != nil {
		t.Fatal(err)
	}
	b.Finish(root)
	got, err := c.AppendJSON(nil, b.FinishedBytes())
	if string(got) != `{"i8":3,"s":"x"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A converter that is used again does not allocate but for vectors of unions, nested messages and structs.
func TestConvertersAreUsedAgain(t *testing.T) {
	c := converter(t)
	in := []byte(`{"i8":3,"s":"a\u00e9","texts":["a","b"],"shorts":[1,2,3],"items":[{"name":"a"},{"name":"b","price":2}]}`)
	message, err := c.AppendMessage(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := c.AppendMessage(nil, in)
		if err != nil || !reflect.DeepEqual(again, message) {
			t.Fatalf("%v\n%x\n%x", err, again, message)
		}
		if _, err := c.AppendMessage(nil, []byte(`{"s":"x","self":{"i8":1,"i16":2,"item":{`)); err == nil {
			t.Fatal("no error")
		}
	}
}

func TestMessagesBeyondTheLimitAreRefused(t *testing.T) {
	const limit = 2000
	c := converter(t, flatjson.MaxMessage(limit))
	many := func(s string) string { return "[" + strings.Repeat(s+",", 999) + s + "]" }
	for name, in := range map[string]string{
		"text":    `{"s":"` + strings.Repeat("x", limit) + `"}`,
		"texts":   `{"s":"x","texts":` + many(`""`) + `}`,
		"numbers": `{"s":"x","doubles":` + many("0") + `}`,
		"tables":  `{"s":"x","items":` + many(`{"name":""}`) + `}`,
		"unions":  `{"s":"x","things_type":` + many(`"NONE"`) + `,"things":` + many("0") + `}`,
		"nested":  `{"s":"x","nested":{"name":"` + strings.Repeat("x", limit-100) + `"},"texts":["` + strings.Repeat("x", 200) + `"]}`,
		"flex":    `{"s":"x","flex":` + many("1000") + `}`,
	} {
		if _, err := c.AppendMessage(nil, []byte(in)); diag.CodeOf(err) != diag.SizeLimit {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.AppendMessage(nil, []byte(`{"s":"x","texts":["y"]}`)); err != nil {
		t.Error(err)
	}
}

func TestWhatIsSteppedOverNestsAsDeepAsTablesMay(t *testing.T) {
	for _, c := range []*flatjson.Converter{converter(t, flatjson.SkipUnknown()), converter(t, flatjson.SkipUnknown(), flatjson.Lenient())} {
		for depth, want := range map[int]bool{130: false, 300: true} {
			in := `{"s":"x","unknown":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}"
			if _, err := c.AppendMessage(nil, []byte(in)); (err != nil) != want || err != nil && diag.CodeOf(err) != diag.DepthLimit {
				t.Errorf("%d levels: %v", depth, err)
			}
		}
	}
}

func TestZerosBelowZeroKeepTheirSignInFlexBuffers(t *testing.T) {
	c := converter(t)
	for _, in := range []string{`{"s":"x","flex":[-0,0]}`, `{"s":"x","flex":[-0.0,0]}`} {
		b, err := c.AppendMessage(nil, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := c.AppendJSON(nil, b); err != nil || !strings.HasSuffix(string(text), `"flex":[-0,0]}`) {
			t.Errorf("%s became %s, %v", in, text, err)
		}
	}
}

func TestVectorsAreSortedByKeysThatAreStructsOrArrays(t *testing.T) {
	file := load(t, `struct In { a: byte; b: [short:2]; } struct Marks { m: [byte:3] (key); n: int; } struct Deep { n: int; in: In (key); }
		table Item { in: In (key); n: int; } table T { marks: [Marks]; deep: [Deep]; items: [Item]; } root_type T;`)
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"marks":[[[3,0,0],1],[[1,2,3],2],[[-1,9,9],3],[[1,2,2],4]]}`: `{"marks":[{"m":[-1,9,9],"n":3},{"m":[1,2,2],"n":4},{"m":[1,2,3],"n":2},{"m":[3,0,0],"n":1}]}`,
		`{"deep":[[1,[2,[4,4]]],[2,[-2,[9,9]]],[3,[2,[4,-1]]]]}`:       `{"deep":[{"n":2,"in":{"a":-2,"b":[9,9]}},{"n":3,"in":{"a":2,"b":[4,-1]}},{"n":1,"in":{"a":2,"b":[4,4]}}]}`,
		`{"items":[{"in":[1,[1,1]]},{"n":5},{"in":[-1,[0,2]]}]}`:       `{"items":[{"in":{"a":-1,"b":[0,2]}},{"n":5},{"in":{"a":1,"b":[1,1]}}]}`, // who has none is zero
	} {
		if got, err := there(c, in); got != want || err != nil {
			t.Errorf("%s\ngot  %s, %v\nwant %s", in, got, err, want)
		}
	}
}

func TestStringsAreHashedInVectorsAndStructsToo(t *testing.T) {
	file := load(t, `struct S { h: uint (hash: "fnv1a_32"); } table T { hs: [uint] (hash: "fnv1a_32"); s: S; } root_type T;`)
	c, err := flatjson.New(file.Root(), flatjson.Lenient())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := there(c, `{"hs":["hello",hello,2],"s":{"h":"hello"}}`); got != `{"hs":[1335831723,1335831723,2],"s":{"h":1335831723}}` || err != nil {
		t.Error(got, err)
	}
}

// Builders of other languages make them, and verifiers accept them.
func TestATypeWithoutAValueIsNoUnion(t *testing.T) {
	file := load(t, `table A { a: int; } table B { b: int; } union U { A, B } table T { u: U; us: [U]; n: int; } root_type T;`)
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	p, err := flatproto.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[byte]string{2: `{"n":7}`, 3: ""} {
		var b flatbuf.Builder
		b.StartObject(5)
		b.PrependByteSlot(0, tag, 0)
		b.PrependInt32Slot(4, 7, 0)
		b.Finish(b.EndObject())
		text, err := c.AppendJSON(nil, b.FinishedBytes())
		if string(text) != want || (want == "") != (diag.CodeOf(err) == diag.InvalidUnion) {
			t.Errorf("%d: %s, %v", tag, text, err)
		}
		body, err := p.AppendBody(nil, b.FinishedBytes())
		if (want == "") != (diag.CodeOf(err) == diag.InvalidUnion) {
			t.Errorf("%d: %x, %v", tag, body, err)
		}
	}
}

func FuzzFromJSON(f *testing.F) {
	c, loose := converter(f), converter(f, flatjson.Lenient())
	for _, in := range []string{
		`{"s":"x","b":1,"i8":-3,"color":"Red Blue","thing_type":"Point","thing":[1,2],"things_type":["Item","NONE"],"things":[{"name":"q"},{}]}`,
		`{s:'x',point:{x:1,y:2},box:{from:[1,2],marks:[1,2,3],mood:Glad,id:3},items:[{name:"b"},{name:"a"}],d:cos(rad(180))}`,
		`{"s":"\u0041","nested":{"name":"n"},"flex":{"a":[1,2.5,null]},"h":"x","far":"f","wide":[1],"self":{"s":""}}`,
		`{"s":"x","flex":[-0.0,-0]}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		message, err := c.AppendMessage(nil, in)
		also, looseErr := loose.AppendMessage(nil, in)
		if err == nil && (looseErr != nil || !reflect.DeepEqual(message, also)) {
			t.Fatalf("lenient reads standard JSON otherwise: %v\n%x\n%x", looseErr, also, message)
		}
		if looseErr != nil {
			return
		}
		text, err := c.AppendJSON(nil, also)
		if err != nil {
			t.Fatalf("%x: %v", also, err)
		}
		again, err := c.AppendMessage(nil, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if back, err := c.AppendJSON(nil, again); err != nil || string(back) != string(text) {
			t.Fatalf("%s, %v\nafter %s", back, err, text)
		}
	})
}

// Verifiers accept elements of vectors whose offset is 0, and accessors find an empty string or table there.
func TestElementsThatReferToThemselvesAreEmpty(t *testing.T) {
	file := load(t, `table In { n: int; } table T { texts: [string]; tables: [In]; } root_type T;`)
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{`{"texts":[""]}`: `{"texts":[""]}`, `{"tables":[{"n":1}]}`: `{"tables":[{}]}`} {
		b, err := c.AppendMessage(nil, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range flatbuffers.Root(file.Root(), b).Fields() {
			flatbuf.WriteUOffsetT(b[v.Offset():], 0)
		}
		text, err := c.AppendJSON(nil, b)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v", text, err)
		}
		if _, err := c.AppendMessage(nil, text); err != nil {
			t.Error(err)
		}
	}
}

func FuzzToJSON(f *testing.F) {
	c, trusted := converter(f), converter(f, flatjson.Trusted(), flatjson.MaxOutput(1<<16))
	for _, in := range []string{`{"s":"x","texts":["a"],"thing_type":"Text","thing":"t","flex":[1]}`, `{"s":"x","items":[{"name":"b"}],"box":[[1,2],[1,2,3],1,2]}`} {
		b, err := c.AppendMessage(nil, []byte(in))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trusted.AppendJSON(nil, b)
		text, err := c.AppendJSON(nil, b)
		if err != nil {
			return
		}
		if _, err := c.AppendMessage(nil, text); err != nil && diag.CodeOf(err) != diag.DepthLimit {
			t.Fatalf("%s of %x: %v", text, b, err)
		}
	})
}

func Example() {
	const text = `table Item { name: string; price: double; } table Cart { items: [Item]; } root_type Cart;`
	file, _ := fbsidl.Load("cart.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"cart.fbs": []byte(text)}))
	c, err := flatjson.New(file.Root())
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := c.AppendMessage(nil, []byte(`{"items": [{"name": "pen", "price": 1.5}]}`))
	fmt.Println(len(message), err)
	json, err := c.AppendJSON(nil, message)
	fmt.Println(string(json), err)
	_, err = c.AppendMessage(nil, []byte(`{"items": [{"name": "pen", "price": "dear"}]}`))
	fmt.Println(err)
	// Output:
	// 64 <nil>
	// {"items":[{"name":"pen","price":1.5}]} <nil>
	// "dear" is no value of type double at items[0].price (offset 36) [type-mismatch]
}

// What C++ reads as it stands in memory is aligned as the schema asks.
func TestVectorsAndMessagesInsideAreAligned(t *testing.T) {
	file := load(t, `struct Wide (force_align: 32) { x: ubyte; } table In { wide: Wide; }
		table T { pad: string; in: [ubyte] (nested_flatbuffer: "In"); floats: [float] (force_align: 16); names: [string]; one: string (shared); two: string (shared); }
		root_type T;`)
	c, err := flatjson.New(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, pad := range []string{"", "abc", "abcdefghijkl"} {
		b, err := c.AppendMessage(nil, []byte(`{"floats":[1,2,3],"in":{"wide":{"x":7}},"pad":"`+pad+`","one":"same","two":"same","names":["a"]}`))
		if err != nil {
			t.Fatal(err)
		}
		root := flatbuffers.Root(file.Root(), b)
		in, err := root.Field("in").Bytes()
		if err != nil || bytes.Index(b, in)%32 != 0 {
			t.Errorf("the message inside stands at %d, %v", bytes.Index(b, in), err)
		}
		if at := root.Field("floats").Index(0).Offset(); at%16 != 0 {
			t.Errorf("the floats stand at %d", at)
		}
		if one, two := root.Field("one").Offset(), root.Field("two").Offset(); one != two {
			t.Errorf("one string stands at %d and %d", one, two)
		}
	}
}
