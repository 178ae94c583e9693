package frugal_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/frugal"
)

// These tests cover the ground of Frugal's own suite of tests, which was run
// through this package, and name each difference that it shows and that the
// package's documentation lists.

type kind int64

type word string

type item struct {
	Kind  kind   `thrift:"kind,1" frugal:"1,default,kind"`
	Label string `thrift:"label,2" frugal:"2,default,string"`
}

type all struct {
	Flag    bool              `frugal:"1,required,bool"`
	Tiny    int8              `frugal:"2,default,byte"`
	Short   int16             `frugal:"3,default,i16"`
	Middle  int32             `frugal:"4,default,i32"`
	Long    int64             `frugal:"5,default,i64"`
	Ratio   float64           `frugal:"6,default,double"`
	Text    string            `frugal:"7,default,string"`
	Data    []byte            `frugal:"8,default,binary"`
	Kind    kind              `frugal:"9,default,kind"`
	Item    *item             `frugal:"10,default,item"`
	Value   item              `frugal:"11,default,base.item"`
	Numbers map[int32]int32   `frugal:"20,required,map<i32:i32>"`
	Kinds   map[kind]kind     `frugal:"21,default,map<kind:kind>"`
	Items   map[string]*item  `frugal:"22,default,map<string:item>"`
	ByItem  map[*item]string  `frugal:"23,default,map<item:string>"`
	List    []int32           `frugal:"30,required,list<i32>"`
	Structs []*item           `frugal:"31,default,list<item>"`
	Set     []kind            `frugal:"32,default,set<kind>"`
	Bytes   []int8            `frugal:"33,default,list<byte>"`
	Deep    []map[int32][]int `frugal:"40,default,list<map<i32:set<i64>>>"`
	Maybe   *bool             `frugal:"50,optional,bool"`
	Choice  *kind             `frugal:"51,optional,kind"`
	Name    *string           `frugal:"52,optional,string"`
	View    []byte            `frugal:"53,optional,binary,nocopy"`
	Count   int               `frugal:"54,default,i64"`
	Word    word              `frugal:"55,default"`
}

func full() *all {
	yes, k, name := true, kind(3), "name"
	return &all{
		Flag: true, Tiny: -1, Short: -2, Middle: -3, Long: -1 << 63, Ratio: 0.5, Text: "text", Data: []byte{0, 1}, Kind: 2,
		Item: &item{1, "one"}, Value: item{2, "two"},
		Numbers: map[int32]int32{1: 2}, Kinds: map[kind]kind{1: 2}, Items: map[string]*item{"a": {3, "three"}},
		ByItem: map[*item]string{{4, "four"}: "4"},
		List:   []int32{1, -1}, Structs: []*item{{5, "five"}, {6, "six"}}, Set: []kind{7, 8}, Bytes: []int8{-1, 1},
		Deep:  []map[int32][]int{{1: {2, 3}}},
		Maybe: &yes, Choice: &k, Name: &name, View: []byte("view"), Count: -5, Word: "word",
	}
}

// encode checks that the size is exact, too.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	buf := make([]byte, frugal.EncodedSize(v))
	n, err := frugal.EncodeObject(buf, nil, v)
	if err != nil || n != len(buf) {
		t.Fatalf("%d of %d bytes, %v", n, len(buf), err)
	}
	return buf
}

func TestEveryTypeComesBack(t *testing.T) {
	in, out := full(), new(all)
	b := encode(t, in)
	n, err := frugal.DecodeObject(append(b, "behind"...), out)
	if err != nil || n != len(b) {
		t.Fatalf("took %d of %d bytes, %v", n, len(b), err)
	}
	for k, v := range out.ByItem { // pointers are compared by address in keys
		if *k != (item{4, "four"}) || v != "4" {
			t.Errorf("got the key %+v", k)
		}
	}
	in.ByItem, out.ByItem = nil, nil
	if !reflect.DeepEqual(in, out) {
		t.Errorf("got  %+v\nwant %+v", out, in)
	}
}

func TestStructsAreEncodedByValueToo(t *testing.T) {
	if b := encode(t, item{1, "x"}); !bytes.Equal(b, encode(t, &item{1, "x"})) {
		t.Errorf("got %x", b)
	}
}

func TestANilPointerIsAnEmptyStruct(t *testing.T) {
	if b := encode(t, (*item)(nil)); !bytes.Equal(b, []byte{0}) {
		t.Errorf("got %x", b)
	}
	if _, err := frugal.EncodeObject(nil, nil, (*item)(nil)); err == nil {
		t.Error("no error for a buffer without room")
	}
	buf := make([]byte, 1)
	if n := testing.AllocsPerRun(100, func() { frugal.EncodeObject(buf[:frugal.EncodedSize((*item)(nil))], nil, (*item)(nil)) }); n != 0 {
		t.Errorf("it takes %v allocations", n)
	}
}

func TestABufferMayBeLongerThanTheValue(t *testing.T) {
	buf := bytes.Repeat([]byte{0xee}, 100)
	n, err := frugal.EncodeObject(buf, nil, item{1, "x"})
	if err != nil || n != frugal.EncodedSize(item{1, "x"}) || bytes.Count(buf[n:], []byte{0xee}) != len(buf)-n {
		t.Errorf("%d, %v, %x", n, err, buf)
	}
}

func TestOptionsHaveNoEffect(t *testing.T) {
	frugal.NoJIT(true)
	if frugal.SetMaxInlineDepth(3) != 3 || frugal.SetMaxInlineILSize(4) != 4 {
		t.Error("the setters do not return their argument")
	}
	err := frugal.Pretouch(reflect.TypeOf(&all{}), frugal.WithMaxInlineDepth(1), frugal.WithMaxInlineILSize(1), frugal.WithMaxPretouchDepth(1))
	if err != nil {
		t.Error(err)
	}
}

// The differences, in the order of the documentation.

func TestDifferenceNothingPanics(t *testing.T) {
	b := encode(t, full())
	for i := range b {
		if n, err := frugal.DecodeObject(b[:i:i], new(all)); err == nil {
			t.Fatalf("the first %d bytes decode as %d", i, n)
		}
	}
	type unsigned struct {
		A uint32 `frugal:"1,default,i32"`
	}
	for _, bad := range []any{nil, 1, "x", new(int), unsigned{}, &unsigned{}, (*unsigned)(nil)} {
		if n := frugal.EncodedSize(bad); n != 0 {
			t.Errorf("%T has the size %d", bad, n)
		}
		if _, err := frugal.EncodeObject(make([]byte, 10), nil, bad); err == nil {
			t.Errorf("%T encodes", bad)
		}
		if _, err := frugal.DecodeObject([]byte{0}, bad); err == nil {
			t.Errorf("%T decodes", bad)
		}
		if err := frugal.Pretouch(bad); err == nil {
			t.Errorf("%T compiles", bad)
		}
	}
	if _, err := frugal.DecodeObject([]byte{0}, item{}); err == nil {
		t.Error("a struct that is no pointer decodes")
	}
	if _, err := frugal.DecodeObject([]byte{0}, (*item)(nil)); err == nil {
		t.Error("a nil pointer decodes")
	}
}

func TestDifferenceNothingLeaksBetweenEntries(t *testing.T) {
	type shelf struct {
		Items map[string]item `frugal:"1,default,map<string:item>"`
	}
	encode := func(key string, fields ...byte) []byte {
		b := []byte{13, 0, 1, 11, 12, 0, 0, 0, 1, 0, 0, 0, byte(len(key))}
		return append(append(append(b, key...), fields...), 0, 0)
	}
	for range 100 {
		var first, second shelf
		if _, err := frugal.DecodeObject(encode("a", 11, 0, 2, 0, 0, 0, 6, 's', 'e', 'c', 'r', 'e', 't'), &first); err != nil {
			t.Fatal(err)
		}
		if _, err := frugal.DecodeObject(encode("b"), &second); err != nil {
			t.Fatal(err)
		}
		if second.Items["b"] != (item{}) {
			t.Fatalf("the second message holds %+v", second.Items["b"])
		}
	}
}

func TestDifferenceSizesOfListsByValueAreExact(t *testing.T) {
	type shelf struct {
		Items []item `frugal:"1,default,list<item>"`
	}
	if n := len(encode(t, &shelf{[]item{{1, "a"}, {2, ""}}})); n != 40 {
		t.Errorf("got %d bytes", n)
	}
}

func TestDifferenceCyclesAreErrors(t *testing.T) {
	type node struct {
		Next *node `frugal:"1,optional,node"`
	}
	n := new(node)
	n.Next = n
	if size := frugal.EncodedSize(n); size != 0 {
		t.Errorf("a cycle has the size %d", size)
	}
	if _, err := frugal.EncodeObject(make([]byte, 1<<16), nil, n); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("got %v", err)
	}
}

func TestDifferenceTheWriterIsUsed(t *testing.T) {
	v := &all{Text: strings.Repeat("t", codec.DirectSize), Data: bytes.Repeat([]byte("d"), codec.DirectSize-1)}
	buf := make([]byte, frugal.EncodedSize(v))
	var w pieces
	n, err := frugal.EncodeObject(buf, &w, v)
	if err != nil || n != len(buf)-codec.DirectSize || len(w.direct) != 1 || string(w.direct[0]) != v.Text {
		t.Errorf("%d of %d bytes, %d pieces, %v", n, len(buf), len(w.direct), err)
	}
}

func TestDifferenceAShortBufferIsNeverLeft(t *testing.T) {
	v := full()
	size := frugal.EncodedSize(v)
	for n := range size {
		buf := bytes.Repeat([]byte{0xee}, size+8)
		if _, err := frugal.EncodeObject(buf[:n], nil, v); err == nil {
			t.Fatalf("%d bytes fit into %d", size, n)
		}
		if bytes.Count(buf[n:], []byte{0xee}) != len(buf)-n {
			t.Fatalf("a buffer of %d bytes was left", n)
		}
	}
}

func TestDifferenceFieldsAreInTheOrderOfTheirDeclaration(t *testing.T) {
	type mixed struct {
		S string `frugal:"1,default,string"`
		N int64  `frugal:"2,default,i64"`
	}
	if b := encode(t, &mixed{}); b[0] != 11 || b[7] != 10 {
		t.Errorf("got %x", b)
	}
}

func TestDifferenceErrorsTellCodeOffsetAndPath(t *testing.T) {
	type strict struct {
		Name string `frugal:"7,required,string"`
	}
	_, err := frugal.DecodeObject([]byte{0}, new(strict))
	if diag.CodeOf(err) != diag.MissingRequired || !strings.Contains(err.Error(), "missing required field 7 for type strict") {
		t.Errorf("got %v", err)
	}
	type unsigned struct {
		A uint32 `frugal:"1,default,i32"`
	}
	var typeError *codec.TypeError
	if err := frugal.Pretouch(unsigned{}); !errors.As(err, &typeError) || !strings.Contains(err.Error(), "use int32 instead") {
		t.Errorf("got %v", err)
	}
}

func TestDifferenceTagsMayNameAStructAsTheyLike(t *testing.T) {
	type holder struct {
		I *item `frugal:"1,default,pkg.AnotherName"`
	}
	if b := encode(t, &holder{&item{1, "x"}}); len(b) != 20 {
		t.Errorf("got %x", b)
	}
}
