package fbsidl_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// said returns what a schema says as far as a binary schema says it too.
func said(f *schema.File) string {
	var lines []string
	seen := map[*schema.File]bool{}
	var visit func(f *schema.File)
	visit = func(f *schema.File) {
		if seen[f] {
			return
		}
		seen[f] = true
		one := func(print func(d *dumper)) {
			d := dumper{binary: true}
			print(&d)
			lines = append(lines, d.String())
		}
		for _, e := range f.Enums() {
			one(func(d *dumper) { d.enum(e) })
		}
		for _, s := range f.Structs() {
			one(func(d *dumper) { d.strct(s) })
		}
		for _, s := range f.Services() {
			one(func(d *dumper) { d.service(s) })
		}
		for _, i := range f.Includes() {
			visit(i.File)
		}
	}
	visit(f)
	slices.Sort(lines)
	if f.Root() != nil {
		lines = append(lines, "root "+f.Root().FullName()+"\n")
	}
	return fmt.Sprintf("%s%q %q", strings.Join(lines, ""), f.Identifier(), f.Extension())
}

func TestABinarySchemaSaysWhatItWasMadeOf(t *testing.T) {
	compare := func(name string, f *schema.File) {
		t.Helper()
		b, err := fbsidl.AppendBinary([]byte("before"), f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		back, list := fbsidl.DecodeBinary("x.bfbs", b[len("before"):])
		if list.Err() != nil {
			t.Errorf("%s:\n%s", name, render(t, list))
			return
		}
		if got, want := said(back), said(f); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, r := range rules(t) {
		if r.accepted() {
			f, _ := r.load()
			compare(r.name, f)
		}
	}
	for _, path := range fbsFiles(t, "testdata/accepted") {
		compare(path, mustLoad(t, path))
	}
}

func TestABinarySchemaKeepsTheFiles(t *testing.T) {
	b, err := fbsidl.AppendBinary(nil, mustLoad(t, "testdata/accepted/everything.fbs"))
	if err != nil {
		t.Fatal(err)
	}
	f, list := fbsidl.DecodeBinary("x.bfbs", b)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if f.Path() != "everything.fbs" || len(f.Includes()) != 1 || f.Includes()[0].File.Path() != "lib/money.fbs" {
		t.Errorf("%s includes %v", f.Path(), f.Includes())
	}
	if f.Includes()[0].File.Struct("money.Amount") == nil || f.Struct("money.Amount") != nil {
		t.Error("money.Amount is in another file")
	}
}

func TestWhatIsNoBinarySchemaIsRefused(t *testing.T) {
	for name, b := range map[string]string{
		"nothing": "", "too short": "\x08\x00\x00\x00BFB", "no identifier": "\x08\x00\x00\x00ABCD\x00\x00\x00\x00",
	} {
		if f, list := fbsidl.DecodeBinary("x.bfbs", []byte(b)); f != nil || codes(list) != "binary-schema" {
			t.Errorf("%s: %v", name, list)
		}
	}
}

func TestABinarySchemaIsTakenWholeOnly(t *testing.T) {
	const text = "/// A doc.\nnamespace n; enum E:byte { A, B } struct P { x:int; } union U { T } table T { e:E = B; p:P; u:U; s:string; d:double = 2.5; } rpc_service S { M(T):T; } root_type T;"
	file, list := fbsidl.Load("x.fbs", fbsidl.Sources(map[string][]byte{"x.fbs": []byte(text)}), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	b, err := fbsidl.AppendBinary(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	prefixed := append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	for _, b := range [][]byte{b, prefixed} {
		if f, list := fbsidl.DecodeBinary("x.bfbs", b); list.Err() != nil || f.Service("S") == nil {
			t.Fatal(list)
		}
	}
	for n := range b {
		if f, list := fbsidl.DecodeBinary("x.bfbs", b[:n]); f != nil || codes(list) != "binary-schema" {
			t.Errorf("%d of %d bytes: %v", n, len(b), list)
		}
	}
}

func TestASchemaOfAnotherLanguageHasNoBinaryForm(t *testing.T) {
	f := schema.NewFile("a.thrift")
	s := schema.NewStruct(schema.DeclSpec{Name: "S", File: f}, schema.PlainStruct)
	s.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{Name: "m", Type: schema.MapOf(schema.Basic(schema.I32), schema.Basic(schema.I32))})})
	f.Complete(schema.FileSpec{Structs: []*schema.StructDef{s}})
	if _, err := fbsidl.AppendBinary(nil, f); err == nil {
		t.Error("no error")
	}
}

// FuzzBinary feeds arbitrary bytes to DecodeBinary: it must neither panic nor
// hang, and what it accepts must be a complete graph with a binary form.
func FuzzBinary(f *testing.F) {
	for _, r := range rules(f) {
		if file, _ := r.load(); file != nil {
			if b, err := fbsidl.AppendBinary(nil, file); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, list := fbsidl.DecodeBinary("x.bfbs", b)
		if (file == nil) != (list.Err() != nil) {
			t.Fatalf("file %v, errors %v", file, list)
		}
		render(t, list)
		if file == nil {
			return
		}
		walk(t, file, map[*schema.File]bool{})
		if _, err := fbsidl.AppendBinary(nil, file); err != nil {
			t.Fatal(err)
		}
	})
}

func ExampleDecodeBinary() {
	file, list := fbsidl.Load("shop.fbs", fbsidl.Sources(map[string][]byte{
		"shop.fbs": []byte("namespace shop; table Item { name:string; price:long; } root_type Item;"),
	}))
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	b, err := fbsidl.AppendBinary(nil, file)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, list := fbsidl.DecodeBinary("shop.bfbs", b)
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	fmt.Println(again.Root().FullName(), again.Root().Fields())
	// Output:
	// shop.Item [0: optional string name 1: i64 price]
}
