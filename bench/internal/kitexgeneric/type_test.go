package kitexgeneric_test

import (
	"encoding/json"
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/kitexgeneric"
	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

const idl = `
struct Point { 1: double x, 2: binary raw }
struct All {
	1: byte small
	2: i64 large
	3: list<Point> points
	4: map<string, Point> byName
	5: map<i32, i64> numbers
	6: string text
	7: Point point
}
service Shapes { void all(1: All value) }
`

// message is a value of All, written by our side.
func message(t *testing.T) []byte {
	t.Helper()
	file, list := thriftidl.Load("a.thrift", thriftidl.Sources(map[string][]byte{"a.thrift": []byte(idl)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	point := map[string]any{"x": 1.5, "raw": []byte{1, 0xff, 2}}
	b, err := dynamic.AppendAny(nil, file.Struct("All").Type(), map[string]any{
		"small": 7, "large": int64(1) << 40, "points": []any{point, point}, "byName": map[string]any{"a": point, "b": point},
		"numbers": []dynamic.Entry{{Key: 1, Value: -1}, {Key: 2, Value: -2}}, "text": "a \"text\"", "point": point,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func load(t *testing.T) *kitexgeneric.Type {
	t.Helper()
	s, err := kitexgeneric.Load(idl)
	if err != nil {
		t.Fatal(err)
	}
	of, err := s.Type("all")
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func sameMessage(t *testing.T, got, want []byte) {
	t.Helper()
	a, err := same.Message(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := same.Message(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%x instead of %x", a, b)
	}
}

func TestMapsAreOurMessagesBothWays(t *testing.T) {
	of, in := load(t), message(t)
	v, err := of.Map(in)
	if err != nil {
		t.Fatal(err)
	}
	if raw := v["point"].(map[string]any)["raw"]; raw != "\x01\xff\x02" || v["large"] != int64(1)<<40 {
		t.Errorf("%#v", v)
	}
	out, err := of.AppendMap(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	sameMessage(t, out, in)
}

func TestJSONIsOurMessageBothWays(t *testing.T) {
	of, in := load(t), message(t)
	text, err := of.JSON(in)
	if err != nil || !json.Valid([]byte(text)) {
		t.Fatal(text, err)
	}
	out, err := of.AppendJSON([]byte("what stands"), text)
	if err != nil || string(out[:11]) != "what stands" {
		t.Fatal(out, err)
	}
	sameMessage(t, out[11:], in)
}

func TestWhatIsNoMessageIsAnError(t *testing.T) {
	of, in := load(t), message(t)
	if _, err := of.Map(in[:len(in)-2]); err == nil {
		t.Error("a cut message was decoded")
	}
	if _, err := of.JSON(in[:len(in)-2]); err == nil {
		t.Error("a cut message was converted")
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	for _, service := range []string{"void two(1: i32 a, 2: i32 b)", "void number(1: i32 a)", "void other(2: Point a)"} {
		if _, err := kitexgeneric.Load("struct Point {}\nservice S { " + service + " }"); err == nil {
			t.Errorf("%s is taken", service)
		}
	}
	s, err := kitexgeneric.Load(idl)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Type("none"); err == nil {
		t.Error("a method that is not there")
	}
}
