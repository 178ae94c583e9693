package evolution_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/schema/evolution"
)

// pairs reads the cases of a file: verdict and code, name, and two schemas.
func pairs(t *testing.T, path string) (all [][4]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		verdict, name, ok := strings.Cut(head, ": ")
		files := strings.Split(body, "\n---")
		if !ok || len(files) < 2 {
			t.Fatalf("%s: %s", path, head)
		}
		all = append(all, [4]string{verdict, name, files[0], files[1]})
	}
	return all
}

func fbs(t *testing.T, name, text string) *schema.File {
	t.Helper()
	f, list := fbsidl.Load(name, fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{name: []byte(text)}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func thrift(t *testing.T, name, text string) *schema.File {
	t.Helper()
	f, list := thriftidl.Load(name, thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{name: []byte(text)}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestChangesAreJudgedAsTheCasesSay(t *testing.T) {
	for _, language := range []struct {
		format evolution.Format
		path   string
		load   func(t *testing.T, name, text string) *schema.File
	}{
		{evolution.FlatBuffers, "testdata/flatbuffers.txt", fbs},
		{evolution.Thrift, "testdata/thrift.txt", thrift},
	} {
		for _, p := range pairs(t, language.path) {
			list := evolution.Check(language.format, language.load(t, "old", p[2]), language.load(t, "new", p[3]))
			verdict, code, _ := strings.Cut(p[0], " ")
			var shown strings.Builder
			if err := list.Render(&shown); err != nil {
				t.Fatal(err)
			}
			found := code == "" && len(list) == 0
			for _, d := range list {
				found = found || d.Code == code
			}
			if breaks := verdict == "breaks" || verdict == "strict"; !found || breaks != (list.Err() != nil) {
				t.Errorf("%s: %s: %s\n%s", language.path, p[0], p[1], &shown)
			}
		}
	}
}

func TestIncludedFilesAreComparedByName(t *testing.T) {
	load := func(units string) *schema.File {
		f, list := thriftidl.Load("main.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{
			"main.thrift": []byte(`include "a/x.thrift" include "b/y.thrift" struct S { 1: x.S a, 2: y.S b }`),
			"a/x.thrift":  []byte(`struct S { 1: i32 units }`),
			"b/y.thrift":  []byte(`struct S { 1: ` + units + ` units }`),
		}))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	if list := evolution.Check(evolution.Thrift, load("i64"), load("i64")); len(list) != 0 {
		t.Error(list)
	}
	list := evolution.Check(evolution.Thrift, load("i64"), load("i32"))
	if len(list) != 1 || list[0].Span.Source.Name != "b/y.thrift" {
		t.Error(list)
	}
}

func ExampleCheck() {
	load := func(name, text string) *schema.File {
		f, list := fbsidl.Load(name, fbsidl.Sources(map[string][]byte{name: []byte(text)}))
		if err := list.Err(); err != nil {
			fmt.Println(err)
		}
		return f
	}
	old := load("old.fbs", "table Item {\n  name:string;\n  price:int;\n}\n")
	new := load("new.fbs", "table Item {\n  name:string;\n  stock:int;\n  price:long;\n}\n")
	var list diag.List = evolution.Check(evolution.FlatBuffers, old, new)
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// new.fbs:4:3: error: price of Item had the id 1 and has 2 [field-moved]
	//   4 |   price:long;
	//     |   ^^^^^
	// old.fbs:3:3: note: it was declared here
	//   3 |   price:int;
	//     |   ^^^^^
}
