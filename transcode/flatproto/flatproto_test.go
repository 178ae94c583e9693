package flatproto_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files in testdata")

// every has a field of every kind.
const every = `
namespace other;
enum Size : ushort { Small = 1, Large }
table Extra { size: Size = Small; }
namespace test;
enum Color : ubyte (bit_flags) { Red, Green, Blue = 3 }
enum Mood : short { Sad = -1, Calm, Glad = 4 }
enum Huge : ulong { None, Top = 18446744073709551615 }
struct Point { x: float; y: short; }
struct Box { from: Point; marks: [ubyte:3]; mood: Mood; id: uint (key); pairs: [short:2]; corners: [Point:2]; }
/// An item.
table Item { name: string (key); price: double; color: Color = Green; }
table Numbered { id: ulong (key); }
union Thing { Item, Other: Item, Point, Text: string }
table Every {
  b: bool = true; i8: byte; u8: ubyte; i16: short = -7; u16: ushort; i32: int; u32: uint; i64: long; u64: ulong;
  f: float = 1.5; d: double; opt: int = null; color: Color = Green; mood: Mood = Glad; huge: Huge;
  /// It must be there.
  s: string (required); lacking: string = "none";
  point: Point; box: Box; item: Item; thing: Thing; things: [Thing];
  bytes: [ubyte]; signed: [byte]; shorts: [short]; doubles: [double]; texts: [string]; items: [Item]; boxes: [Box]; numbered: [Numbered];
  self: Every; nested: [ubyte] (nested_flatbuffer: "Item"); old: int (deprecated); moods: [Mood]; bools: [bool];
  far: string (offset64); wide: [ubyte] (vector64); extra: other.Extra; floats: [float]; longs: [ulong];
}
rpc_service Shop { Ask(Every): Item; Watch(Item): Every (streaming: "server"); Fill(Item): Every (streaming: "client"); Talk(Item): Item (streaming: "bidi"); }
root_type Every;
file_identifier "EVRY";
`

func load(t testing.TB, text string) *schema.File {
	t.Helper()
	file, list := fbsidl.Load("every.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"every.fbs": []byte(text)}))
	if file == nil {
		t.Fatal(list.Err())
	}
	return file
}

// pair is what converts messages of one root from and to Protobuf, and JSON.
type pair struct {
	proto *flatproto.Converter
	json  *flatjson.Converter
}

func converters(t testing.TB, text string, opts ...flatproto.Option) pair {
	t.Helper()
	root := load(t, text).Root()
	p, err := flatproto.New(root, opts...)
	if err != nil {
		t.Fatal(err)
	}
	j, err := flatjson.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return pair{p, j}
}

// there returns the Protobuf of what JSON means.
func (p pair) there(t testing.TB, json string) []byte {
	t.Helper()
	b, err := p.json.AppendMessage(nil, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.proto.AppendBody(nil, b)
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return out
}

// back returns the JSON of what Protobuf means.
func (p pair) back(b []byte) (string, error) {
	message, err := p.proto.AppendMessage(nil, b)
	if err != nil {
		return "", err
	}
	out, err := p.json.AppendJSON(nil, message)
	return string(out), err
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	p := converters(t, every)
	for _, json := range []string{
		`{"s":"x"}`,
		`{"b":false,"i8":-128,"u8":255,"i16":-32768,"u16":65535,"i32":-2147483648,"u32":4294967295,"i64":-9223372036854775808,"u64":18446744073709551615,"s":"x"}`,
		`{"i16":0,"f":0,"opt":0,"color":0,"mood":"Calm","s":""}`,
		`{"f":"-inf","d":"nan","color":"Red Blue","mood":"Sad","huge":"Top","s":"äö😀","lacking":""}`,
		`{"s":"x","point":{"x":1.5,"y":-2},"box":{"from":{"x":1,"y":2},"marks":[1,2,3],"mood":"Glad","id":4,"pairs":[5,-6],"corners":[{"x":0,"y":7},{"x":8,"y":0}]}}`,
		`{"s":"x","point":{"x":0,"y":0},"item":{"name":""},"self":{"s":"y","self":{"s":"z"}}}`,
		`{"s":"x","thing_type":"Other","thing":{"name":"a","price":0.25}}`,
		`{"s":"x","thing_type":"Point","thing":{"x":1,"y":2}}`,
		`{"s":"x","thing_type":"Text","thing":""}`,
		`{"s":"x","things_type":["Item","NONE","Text","Point"],"things":[{"name":"q"},null,"words",{"x":1,"y":0}]}`,
		`{"s":"x","bytes":[1,2,3],"signed":[-1,1],"shorts":[-1,0,32767],"doubles":[0.5,"nan"],"texts":["","t"],"moods":["Sad","Glad"],"bools":[true,false],"floats":[1,2],"longs":[1,18446744073709551615]}`,
		`{"s":"x","bytes":[],"items":[{"name":"a"},{"name":"b","color":"Red"}],"numbered":[{"id":0},{"id":2}],"nested":{"name":"in"},"far":"away","wide":[1,2],"extra":{"size":"Large"}}`,
		`{"s":"x","boxes":[{"from":{"x":1,"y":2},"marks":[0,0,0],"mood":"Calm","id":3,"pairs":[0,0],"corners":[{"x":0,"y":0},{"x":0,"y":0}]}]}`,
	} {
		body := p.there(t, json)
		if got, err := p.back(body); err != nil || got != json {
			t.Errorf("%s\ncomes back as\n%s, %v, by % x", json, got, err, body)
		}
	}
}

// fields appends fields of Protobuf: a number, a wire type and a value, three at a time.
func fields(parts ...any) []byte {
	var b []byte
	for i := 0; i < len(parts); i += 2 {
		n := int32(parts[i].(int))
		switch v := parts[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.Varint), uint64(v))
		case int64:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.Varint), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.Bytes), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.Bytes), v)
		case uint32:
			b = protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32), v)
		}
	}
	return b
}

// small has few fields, so that their numbers are plain.
const small = `
struct Two { a: short; b: [short:2]; }
table Leaf { n: int = 5; t: string; }
union Any { Leaf, Two, Text: string }
table Small { n: byte; s: string; leaf: Leaf; any: Any; list: [int]; leaves: [Leaf]; two: Two; must: string (required); twos: [Two]; }
root_type Small;
`

// The numbers of Small's fields: the type of the union has an id of its own.
const (
	fieldN, fieldS, fieldLeaf, fieldAny, fieldList, fieldLeaves, fieldTwo, fieldMust, fieldTwos = 1, 2, 3, 5, 6, 7, 8, 9, 10
)

func TestProtobufIsReadAsItsRulesSay(t *testing.T) {
	p := converters(t, small)
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":                    {nil, `{"must":""}`},
		"the last counts":            {fields(fieldN, 1, fieldS, "a", fieldN, 2, fieldS, "b"), `{"n":2,"s":"b","must":""}`},
		"messages are merged":        {fields(fieldLeaf, fields(1, 7), fieldN, 1, fieldLeaf, fields(2, "t")), `{"n":1,"leaf":{"n":7,"t":"t"},"must":""}`},
		"structs are merged":         {fields(fieldTwo, fields(1, 7), fieldTwo, fields(2, fields()[:0], 2, 3, 2, 4)), `{"two":{"a":7,"b":[3,4]},"must":""}`},
		"packed and not":             {fields(fieldList, []byte{1, 2}, fieldS, "x", fieldList, 3, fieldList, []byte{4}), `{"s":"x","list":[1,2,3,4],"must":""}`},
		"any order":                  {fields(fieldMust, "m", fieldLeaves, fields(1, 1), fieldS, "s", fieldLeaves, fields(), fieldN, 1), `{"n":1,"s":"s","leaves":[{"n":1},{}],"must":"m"}`},
		"unknown fields":             {fields(4, 1, 99, "x", fieldS, 1, fieldN, "x"), `{"must":""}`},
		"the last member counts":     {fields(fieldAny, fields(3, "t", 1, fields(1, 1))), `{"any_type":"Leaf","any":{"n":1},"must":""}`},
		"a member is merged":         {fields(fieldAny, fields(1, fields(1, 1)), fieldAny, fields(1, fields(2, "t"))), `{"any_type":"Leaf","any":{"n":1,"t":"t"},"must":""}`},
		"a union without a member":   {fields(fieldAny, fields()), `{"must":""}`},
		"a default that is set":      {fields(fieldLeaf, fields(1, 0)), `{"leaf":{"n":0},"must":""}`},
		"integers of 32 bits":        {fields(fieldN, -1, fieldList, int64(1<<32+3)), `{"n":-1,"list":[3],"must":""}`},
		"vectors of structs":         {fields(fieldTwos, fields(1, 1), fieldTwos, fields()), `{"must":"","twos":[{"a":1,"b":[0,0]},{"a":0,"b":[0,0]}]}`},
		"a required text that is no": {fields(fieldMust, ""), `{"must":""}`},
	} {
		if got, err := p.back(c.body); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestFaultsHaveCodesOffsetsAndPaths(t *testing.T) {
	p, strict := converters(t, small), converters(t, small, flatproto.RejectUnknown())
	deep := fields(1, 1)
	tree := converters(t, `table Tree { n: int; sub: Tree; } root_type Tree;`)
	for range 70 {
		deep = fields(2, deep)
	}
	for name, c := range map[string]struct {
		pair
		body   []byte
		code   diag.Code
		offset int
		path   string
	}{
		"cut off":           {p, fields(fieldS, "text")[:4], diag.UnexpectedEOF, 1, ""},
		"cut off inside":    {p, fields(fieldN, 1, fieldLeaf, []byte{8}), diag.UnexpectedEOF, 5, "leaf"},
		"no wire type":      {p, []byte{0x0f}, diag.InvalidType, 0, ""},
		"a number too big":  {p, fields(fieldN, 128), diag.OutOfRange, 1, "n"},
		"no UTF-8":          {p, fields(fieldLeaves, fields(), fieldLeaves, fields(2, "\xff")), diag.InvalidData, 6, "leaves[1].t"},
		"too many elements": {p, fields(fieldTwo, fields(2, 1, 2, 2, 2, 3)), diag.InvalidLength, 7, "two.b"},
		"too few elements":  {p, fields(fieldAny, fields(2, fields(2, 1))), diag.InvalidLength, 4, "any.Two.b"},
		"unknown":           {strict, fields(fieldN, 1, 99, 1), diag.UnknownField, 2, ""},
		"too deep":          {tree, deep, diag.DepthLimit, -1, ""},
		"no end of a group": {p, []byte{0x0c}, diag.InvalidData, 1, ""},
	} {
		_, err := c.back(c.body)
		var fault *diag.Fault
		if !errors.As(err, &fault) || fault.Code != c.code || c.offset >= 0 && (fault.Offset != c.offset || fault.Path() != c.path) {
			t.Errorf("%s: %v (offset %d)", name, err, fault.Offset)
		}
	}
	must := converters(t, `table A { n: int; } table B { a: A (required); } root_type B;`)
	if _, err := must.back(nil); diag.CodeOf(err) != diag.MissingRequired {
		t.Errorf("without its table: %v", err)
	}
}

func TestWhatIsMadeOfAMessageIsBounded(t *testing.T) {
	wide := `struct Wide { b: [ubyte:60000]; } table T { w: [Wide]; n: [int]; } root_type T;`
	p := converters(t, wide, flatproto.MaxOutput(1<<20))
	if _, err := p.back(bytes.Repeat(fields(1, ""), 100)); diag.CodeOf(err) != diag.SizeLimit {
		t.Errorf("structs of 60000 bytes by two bytes: %v", err)
	}
	b, err := p.json.AppendMessage(nil, []byte(`{"n":[`+strings.Repeat("-1,", 150_000)+`-1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.proto.AppendBody([]byte("kept"), b); diag.CodeOf(err) != diag.SizeLimit || string(out) != "kept" {
		t.Errorf("ten bytes for each number: %v", err)
	}
	if _, err := p.proto.AppendBody(nil, b[:9]); err == nil {
		t.Error("a message that is cut off is converted")
	}
}

func TestSchemasAreWrittenForProtobuf(t *testing.T) {
	out, err := flatproto.AppendSchema(nil, load(t, every))
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/every.proto"
	if *rewrite {
		if err := os.WriteFile(golden, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != string(out) {
		t.Errorf("%v\n%s", err, out)
	}
	file, list := protoidl.Load("every.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"every.proto": out}))
	if file == nil {
		t.Fatal(list.Err())
	}
	if m := file.Service("Shop").Method("Talk"); m.Stream() == nil || m.Stream().Kind != schema.BidirectionalStream {
		t.Errorf("Talk streams as %v", m.Stream())
	}
}

// Members are merged in one go: this took minutes when each was put behind a copy of those before.
func TestAUnionOfManyPiecesIsMerged(t *testing.T) {
	p := converters(t, every)
	root := load(t, every).Root()
	number := func(name string) int { return int(root.FieldByName(name).ID()) + 1 }
	pieces := bytes.Repeat(fields(1, fields(1, "n")), 400_000)
	got, err := p.back(fields(number("s"), "x", number("thing"), append(fields(3, []byte{}), pieces...)))
	if want := `{"s":"x","thing_type":"Item","thing":{"name":"n"}}`; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestMembersThatTheSchemaDoesNotHaveAreAFault(t *testing.T) {
	newer := converters(t, `table A { x: int; } table B { y: int; } union U { A, B } table R { u: U; us: [U]; } root_type R;`)
	older := converters(t, `table A { x: int; } union U { A } table R { u: U; us: [U]; } root_type R;`)
	for path, json := range map[string]string{"u": `{"u_type":"B","u":{"y":1}}`, "us[1]": `{"us_type":["NONE","B"],"us":[null,{"y":1}]}`} {
		message, err := newer.json.AppendMessage(nil, []byte(json))
		if err != nil {
			t.Fatal(err)
		}
		_, toProto := older.proto.AppendBody(nil, message)
		_, toJSON := older.json.AppendJSON(nil, message)
		for _, err := range []error{toProto, toJSON} {
			if diag.CodeOf(err) != diag.InvalidUnion || !strings.Contains(err.Error(), "at "+path) {
				t.Errorf("%s: %v", json, err)
			}
		}
	}
}

func TestWhatProtobufCannotSayIsRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString("table T {")
	for i := range 19_000 {
		fmt.Fprintf(&text, "f%d: int;", i)
	}
	text.WriteString("} root_type T;")
	if _, err := flatproto.New(load(t, text.String()).Root()); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("a number that Protobuf reserves: %v", err)
	}
	file := load(t, `namespace a; table T {} rpc_service S { M(T): T; } namespace b; rpc_service S2 { M(a.T): a.T; }`)
	if _, err := flatproto.AppendSchema(nil, file); diag.CodeOf(err) != diag.Unsupported {
		t.Errorf("services of two namespaces: %v", err)
	}
}

func FuzzFromProtobuf(f *testing.F) {
	p := converters(f, every)
	for _, json := range []string{
		`{"s":"x","b":false,"i8":-3,"color":"Red Blue","thing_type":"Point","thing":[1,2],"things_type":["Item","NONE"],"things":[{"name":"q"},{}]}`,
		`{"s":"x","box":{"from":[1,2],"marks":[1,2,3],"mood":4,"id":3,"pairs":[1,2],"corners":[[1,2],[3,4]]},"items":[{"name":"b"},{"name":"a"}],"d":1e9}`,
		`{"s":"x","shorts":[1,2],"texts":["a"],"nested":{"name":"n"},"self":{"s":"","wide":[1]},"far":"f","longs":[1]}`,
	} {
		f.Add(p.there(f, json))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		message, err := p.proto.AppendMessage(nil, b)
		if err != nil {
			return
		}
		body, err := p.proto.AppendBody(nil, message)
		if err != nil {
			if strings.Contains(err.Error(), "nested") { // a message to us, bytes to Protobuf
				return
			}
			t.Fatalf("%x: %v", message, err)
		}
		again, err := p.proto.AppendMessage(nil, body)
		if err != nil {
			t.Fatalf("%x: %v", body, err)
		}
		if twice, err := p.proto.AppendBody(nil, again); err != nil || !bytes.Equal(twice, body) {
			t.Fatalf("%x comes back as %x, %v", body, twice, err)
		}
	})
}

func FuzzToProtobuf(f *testing.F) {
	p, trusted := converters(f, every, flatproto.MaxOutput(1<<20)), converters(f, every, flatproto.Trusted(), flatproto.MaxOutput(1<<16))
	for _, json := range []string{`{"s":"x","texts":["a"],"thing_type":"Text","thing":"t","longs":[1]}`, `{"s":"x","items":[{"name":"b"}],"point":[1,2]}`} {
		b, err := p.json.AppendMessage(nil, []byte(json))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		trusted.proto.AppendBody(nil, b)
		body, err := p.proto.AppendBody(nil, b)
		if err != nil {
			return
		}
		// Parts that were shared are not any more.
		if _, err := p.proto.AppendMessage(nil, body); err != nil && diag.CodeOf(err) != diag.SizeLimit {
			t.Fatalf("%x of %x: %v", body, b, err)
		}
	})
}

func Example() {
	const text = `table Item { name: string; price: double; } table Cart { items: [Item]; } root_type Cart;`
	file, _ := fbsidl.Load("cart.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"cart.fbs": []byte(text)}))
	c, err := flatproto.New(file.Root())
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := c.AppendMessage(nil, []byte("\x0a\x05\x0a\x03pen"))
	fmt.Println(len(message), err)
	body, err := c.AppendBody(nil, message)
	fmt.Printf("%q %v\n", body, err)
	proto, err := flatproto.AppendSchema(nil, file)
	fmt.Printf("%s%v\n", proto, err)
	// Output:
	// 44 <nil>
	// "\n\x05\n\x03pen" <nil>
	// syntax = "proto3";
	//
	// message Item {
	//   optional string name = 1;
	//   double price = 2;
	// }
	//
	// message Cart {
	//   repeated Item items = 1;
	// }
	// <nil>
}
