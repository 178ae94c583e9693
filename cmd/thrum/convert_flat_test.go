package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flatIDL writes a .fbs file of orders and returns its path.
func flatIDL(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "order.fbs")
	text := `namespace shop.v1;
enum Color:byte { Red, Green }
struct Size { w:float; h:float; }
table Item { name:string; price:double = 1.5; tags:[string]; size:Size; color:Color; }
table Order { id:ulong; items:[Item]; raw:[ubyte]; }
root_type Order;
file_identifier "ORDR";
rpc_service Shop { Place(Order):Item; Watch(Order):Item (streaming:"server"); Feed(Order):Item (streaming:"client"); Chat(Order):Item (streaming:"bidi"); }
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const orders = `{"id":7,"items":[{"name":"a","tags":["x"],"size":{"w":1,"h":2.5},"color":"Green"},{"name":"b","price":2}],"raw":[1,255]}
{"id":8}
`

// flatConvert runs "thrum convert" with that IDL.
func flatConvert(t *testing.T, in, idl, from, to string, more ...string) string {
	t.Helper()
	code, out, stderr := thrum(in, append([]string{"convert", "--from", from, "--to", to, "--idl", idl}, more...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%s to %s: exit code %d, %s", from, to, code, stderr)
	}
	return out
}

func TestConvertSpeaksFlatBuffers(t *testing.T) {
	idl := flatIDL(t)
	one := orders[:strings.Index(orders, "\n")+1]
	message := flatConvert(t, one, idl, "json", "flatbuffers")
	if message[4:8] != "ORDR" {
		t.Errorf("the message starts with %q, not with its identifier at 4", message[:8])
	}
	if back := flatConvert(t, message, idl, "flatbuffers", "json"); back != one {
		t.Errorf("back it is %s", back)
	}
	if same := flatConvert(t, message, "", "flatbuffers", "flatbuffers"); same != message {
		t.Error("a message changed between a format and itself")
	}
	several := flatConvert(t, orders, idl, "json", "flatbuffers-prefixed", "--type", "shop.v1.Order")
	if back := flatConvert(t, several, idl, "flatbuffers-prefixed", "json", "--type", "Order"); back != orders {
		t.Errorf("several are %s", back)
	}
	prefixed := flatConvert(t, message, idl, "flatbuffers", "flatbuffers-prefixed")
	if back := flatConvert(t, prefixed, idl, "flatbuffers-prefixed", "json"); back != one {
		t.Errorf("with its size it is %s", back)
	}
	if got := flatConvert(t, `{"extra":1,"id":8}`, idl, "json", "json"); got != `{"id":8}`+"\n" {
		t.Errorf("an unknown field left %s", got)
	}
	if got := flatConvert(t, "{id:0x08, /* ] */ items:[],}", idl, "json", "json", "--lenient"); got != `{"id":8,"items":[]}`+"\n" {
		t.Errorf("what flatc reads became %s", got)
	}
	if got := flatConvert(t, `{"items":[{}]}`, idl, "json", "json", "--write-defaults", "--enum-numbers"); !strings.Contains(got, `"price":1.5`) || !strings.Contains(got, `"color":0`) {
		t.Errorf("with defaults it is %s", got)
	}
}

func TestConvertSaysWhatIsWrongWithFlatBuffers(t *testing.T) {
	idl := flatIDL(t)
	message := flatConvert(t, orders[:strings.Index(orders, "\n")], idl, "json", "flatbuffers")
	rootless := filepath.Join(t.TempDir(), "rootless.fbs")
	if err := os.WriteFile(rootless, []byte("table A { x:int; }"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   string
		args string
		code int
		want string
	}{
		"unknown":     {`{"extra":1}`, "--from json --to flatbuffers --reject-unknown --idl " + idl, exitFailed, "at [0].extra (offset 1) [unknown-field]"},
		"cut":         {message[:40], "--from flatbuffers --to json --idl " + idl, exitFailed, "at [0]"},
		"cut prefix":  {"\x40\x00\x00\x00abc", "--from flatbuffers-prefixed --to json --idl " + idl, exitFailed, "ends inside a value"},
		"huge prefix": {"\xff\xff\xff\xff", "--from flatbuffers-prefixed --to json --idl " + idl, exitFailed, "exceeds the limit"},
		"identifier":  {strings.Replace(message, "ORDR", "OTHR", 1), "--from flatbuffers --to json --idl " + idl, exitFailed, `identifier "OTHR", that of the schema is "ORDR" at [0] (offset 4)`},
		"size before": {flatConvert(t, message, idl, "flatbuffers", "flatbuffers-prefixed"), "--from flatbuffers --to json --idl " + idl, exitFailed, "the format is flatbuffers-prefixed at [0]"},
		"two":         {orders, "--from json --to flatbuffers --idl " + idl, exitFailed, "flatbuffers holds one"},
		"table":       {"{}", "--from json --to flatbuffers --type Ordr --idl " + idl, exitFailed, `did you mean Order?`},
		"no root":     {"{}", "--from json --to flatbuffers --idl " + rootless, exitUsage, "has no root_type"},
		"thrift":      {"{}", "--from json --to flatbuffers --idl " + shopIDL, exitUsage, "need --idl with a .fbs"},
		"protobuf":    {"", "--from protobuf --to flatbuffers --idl " + idl, exitUsage, "from and to JSON, not protobuf"},
		"switch":      {"{}", "--from json --to flatbuffers --lossy-text --idl " + idl, exitUsage, "--lossy-text means nothing"},
		"lenient":     {"{}", "--from json --to binary --lenient --type Address --idl " + shopIDL, exitUsage, "--lenient is for JSON"},
	} {
		code, _, stderr := thrum(c.in, append([]string{"convert"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
}

func TestInspectShowsFlatBuffers(t *testing.T) {
	idl := flatIDL(t)
	message := flatConvert(t, orders[:strings.Index(orders, "\n")], idl, "json", "flatbuffers")
	code, out, stderr := thrum(message, "inspect", "--idl", idl)
	if code != exitOK || stderr != "" || !strings.Contains(out, "shop.v1.Order\n") || !strings.Contains(out, `name: string = "a"`) {
		t.Errorf("exit code %d, %s\n%s", code, stderr, out)
	}
	if code, out, stderr = thrum(message[:50], "inspect", "--idl", idl, "--type", "Order"); code != exitFailed || !strings.Contains(stderr, "[unexpected-eof]") || !strings.Contains(out, "id: u64 = 7") {
		t.Errorf("cut: exit code %d, %s\n%s", code, stderr, out)
	}
	for _, args := range []string{"--format flatbuffers", "--idl " + idl + " --plan", "--idl " + idl + " --format binary", "--idl " + idl + " --framed varint"} {
		if code, _, stderr := thrum(message, append([]string{"inspect"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
