package protobuf_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds a test for each defect known of other dynamic layers that
// this one could have.

func TestDefectUint64Above2To63IsNegative(t *testing.T) {
	typ := shop(t)
	b := protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), math.MaxUint64)
	entry := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), math.MaxUint64-1)
	b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), entry)
	v := protobuf.NewValue(typ, b)
	n, err := v.Get(protobuf.Name("number"))
	if err != nil {
		t.Fatal(err)
	}
	if u, err := n.Uint(); u != math.MaxUint64 || err != nil {
		t.Errorf("%d, %v", u, err)
	}
	if _, err := n.Int(); diag.CodeOf(err) != diag.OutOfRange {
		t.Errorf("Int: %v", err)
	}
	x, err := v.Any()
	if err != nil || x.(map[string]any)["number"] != uint64(math.MaxUint64) || x.(map[string]any)["ids"].(map[any]any)[uint64(math.MaxUint64-1)] != "" {
		t.Errorf("%v, %v", x, err)
	}
	path, err := protobuf.ParsePath("ids[18446744073709551614]")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := v.Get(path...); err != nil || !text.Exists() {
		t.Errorf("%v, %v", text, err)
	}
	if text, err := v.Get(protobuf.Name("ids"), protobuf.IntKey(-2)); diag.CodeOf(err) != diag.TypeMismatch {
		t.Errorf("%v, %v", text, err)
	}
	again, err := protobuf.AppendAny(nil, typ, x)
	if y, _ := protobuf.NewValue(typ, again).Any(); err != nil || y.(map[string]any)["number"] != uint64(math.MaxUint64) {
		t.Errorf("%v, %v", y, err)
	}
}

func TestDefectOneofsAreUnknown(t *testing.T) {
	typ := shop(t)
	card := protowire.AppendString(protowire.AppendTag(nil, 6, protowire.BytesType), "1234")
	voucher := protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), nil)
	for _, c := range []struct {
		b         []byte
		set, none string
	}{{append(card, voucher...), "voucher", "card"}, {append(voucher, card...), "card", "voucher"}} {
		v := protobuf.NewValue(typ, c.b)
		set, err := v.Get(protobuf.Name(c.set))
		none, err2 := v.Get(protobuf.Name(c.none))
		if err != nil || err2 != nil || !set.Exists() || none.Exists() {
			t.Errorf("%s: %v, %v, %v, %v", c.set, set, none, err, err2)
		}
	}
	_, err := protobuf.AppendAny(nil, typ, map[string]any{"card": "1", "voucher": map[string]any{}})
	checkFault(t, "two members", err, diag.InvalidUnion, "voucher")
}

func TestDefectEnumNamesAreUnknown(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"state": "PAID"})
	if err != nil {
		t.Fatal(err)
	}
	state, _ := v.Get(protobuf.Name("state"))
	if name, err := state.EnumName(); name != "PAID" || err != nil {
		t.Error(name, err)
	}
	_, err = protobuf.MakeAny(typ, map[string]any{"state": "LOST"})
	checkFault(t, "an unknown name", err, diag.UnknownEnum, "state")
}

func TestDefectNumbersAreCutToSize(t *testing.T) {
	typ := shop(t)
	for path, value := range map[string]any{
		"discount": int64(math.MaxInt32) + 1, "counts": []any{uint64(math.MaxUint64)}, "number": -1, "ids": map[any]any{-1: "a"},
	} {
		if _, err := protobuf.AppendAny(nil, typ, map[string]any{path: value}); diag.CodeOf(err) != diag.OutOfRange {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDefectNestingIsFollowedWithoutALimit(t *testing.T) {
	group := strings.Repeat("\x0b", 100_000) + strings.Repeat("\x0c", 100_000)
	v := protobuf.NewMessage([]byte(group))
	if err := v.Check(); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	if _, err := v.Get(protobuf.Field(1)); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 1, Name: "next", Type: node.Type()})})
	loop := map[string]any{}
	loop["next"] = loop // a Go value that contains itself ends at the limit too
	if _, err := protobuf.AppendAny(nil, node.Type(), loop); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	deep := []byte{}
	for range 2000 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep)
	}
	if _, err := protobuf.NewValue(node.Type(), deep).Any(); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	steps := make([]protobuf.Step, 2000)
	for i := range steps {
		steps[i] = protobuf.Field(1)
	}
	if _, err := protobuf.NewValue(node.Type(), deep).Get(steps...); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
}

func TestDefectTimeDoublesWithEachLevel(t *testing.T) {
	i32 := schema.Basic(schema.I32)
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{requiredField(1, "a", i32), schema.NewField(schema.FieldSpec{ID: 2, Name: "next", Type: node.Type()})})
	typ := node.Type()
	b := []byte{}
	for range 200 { // a message that stands twice on every level
		b = protowire.AppendBytes([]byte{8, 1, 0x12}, b)
		b = append(b, 0x12, 0)
	}
	v := protobuf.NewValue(typ, b)
	trimmer, err := protobuf.NewTrimmer(typ, typ)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trimmer.Append(nil, b); diag.CodeOf(err) != diag.MissingRequired {
		t.Error(err)
	}
	path := make([]protobuf.Step, 199)
	for i := range path {
		path[i] = protobuf.Name("next")
	}
	if part, err := v.Get(path...); err != nil || !part.Exists() {
		t.Error(err)
	}
	set, err := protobuf.CompileAll(typ, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Get(v.Node, make([]protobuf.Value, 1)); err != nil {
		t.Error(err)
	}
	if _, err := v.AppendSet(nil, protobuf.NewMessage(nil), path...); err != nil {
		t.Error(err)
	}
	var tree protobuf.Tree
	for _, err := range []error{v.Check(), tree.Load(v), tree.Open(v)} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := v.Any(); err != nil {
		t.Error(err)
	}
}

func TestDefectResultsReachPastTheBuffer(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"name": "a", "items": []any{map[string]any{"name": "b"}}, "ids": map[any]any{1: "c"}, "state": 1})
	if err != nil {
		t.Fatal(err)
	}
	before := string(v.Raw())
	for _, text := range []string{"name", "items", "items[0]", "items[0].name", "ids", "ids[1]", "state"} {
		path, _ := protobuf.ParsePath(text)
		part, err := v.Get(path...)
		if err != nil || !part.Exists() || cap(part.Raw()) != len(part.Raw()) {
			t.Errorf("%s: %v, capacity %d of %d", text, err, cap(part.Raw()), len(part.Raw()))
		}
		_ = append(part.Raw(), 'x')
	}
	if string(v.Raw()) != before {
		t.Error("appending to a result changed the message")
	}
}

func TestDefectEmptyPackedRecordsTakeStack(t *testing.T) {
	list := schema.NewStruct(schema.DeclSpec{Name: "List"}, schema.PlainStruct)
	list.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 1, Name: "c", Type: schema.ListOf(schema.Basic(schema.I32)), Packed: true})})
	typ := list.Type()
	// Three million packed records of no elements, and one element behind them.
	b := append([]byte(strings.Repeat("\x0a\x00", 3_000_000)), 8, 7)
	v := protobuf.NewValue(typ, b)
	c, err := v.Get(protobuf.Name("c"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	it := c.Iterate()
	for it.Next() {
		n, err := it.Value().Int()
		if count++; n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if count != 1 || it.Err() != nil {
		t.Errorf("%d elements, %v", count, it.Err())
	}
	if n, err := c.Len(); n != 1 || err != nil {
		t.Errorf("%d elements, %v", n, err)
	}
	path, err := protobuf.Compile(typ, protobuf.Name("c"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := path.AppendFilter(nil, v.Node, func(*protobuf.Iterator) bool { return true })
	if string(left) != "\x0a\x01\x07" || err != nil {
		t.Errorf("filtered to %d bytes, %v", len(left), err)
	}
	set, err := v.AppendSet(nil, c.Node, protobuf.Name("c"))
	if string(set) != "\x0a\x01\x07" || err != nil {
		t.Errorf("set to %d bytes, %v", len(set), err)
	}
	trimmer, err := protobuf.NewTrimmer(typ, typ)
	if err != nil {
		t.Fatal(err)
	}
	if cut, err := trimmer.Append(nil, b); string(cut) != string(b) || err != nil {
		t.Errorf("cut to %d bytes, %v", len(cut), err)
	}
	var tree protobuf.Tree
	if err := tree.Load(v); err != nil || tree.Root().Get(protobuf.Name("c")).Len() != 1 {
		t.Error(err)
	}
}

func TestDefectMergingCopiesTheMessageOnEachLevel(t *testing.T) {
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	typ := node.Type()
	node.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "next", Type: typ}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "text", Type: schema.Basic(schema.Binary)}),
		schema.NewField(schema.FieldSpec{ID: 3, Name: "by", Type: schema.MapOf(schema.Basic(schema.I32), typ)}),
	})
	text := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), make([]byte, 256<<10))
	twice := text // the message stands twice on each of 1000 levels
	for range 1000 {
		twice = append(protowire.AppendBytes([]byte{0x0a}, twice), 0x0a, 0)
	}
	split, late := text, text // the value of an entry stands twice; it stands before its key
	for range 400 {
		split = protowire.AppendBytes([]byte{0x1a}, append(protowire.AppendBytes([]byte{8, 1, 0x12}, split), 0x12, 0))
		late = protowire.AppendBytes([]byte{0x1a}, append(protowire.AppendBytes([]byte{0x12}, late), 8, 1))
	}
	trimmer, err := protobuf.NewTrimmer(typ, typ)
	if err != nil {
		t.Fatal(err)
	}
	var tree protobuf.Tree
	load := func(b []byte) error { return tree.Load(protobuf.NewValue(typ, b)) }
	open := func(b []byte) error { return tree.Open(protobuf.NewValue(typ, b)) }
	for _, x := range []struct {
		name string
		b    []byte
		do   func(b []byte) error
	}{
		{"Trimmer.Append", twice, func(b []byte) error { _, err := trimmer.Append(nil, b); return err }},
		{"Trimmer.Append of a map", split, func(b []byte) error { _, err := trimmer.Append(nil, b); return err }},
		{"Any of a map", split, func(b []byte) error { _, err := protobuf.NewValue(typ, b).Any(); return err }},
		{"Tree.Load", twice, load},
		{"Tree.Load of a map", split, load},
		{"Tree.Load of a map with late keys", late, load},
		{"Tree.Open", twice, open},
		{"Tree.Open of a map", split, open},
		{"Tree.Open of a map with late keys", late, open},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := x.do(x.b)
		runtime.ReadMemStats(&after)
		if diag.CodeOf(err) != diag.SizeLimit {
			t.Errorf("%s: %v", x.name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64*uint64(len(x.b)) {
			t.Errorf("%s took %d bytes of memory for %d", x.name, took, len(x.b))
		}
	}
	// A few levels are merged, whatever the size.
	few := text
	for range 4 {
		few = append(protowire.AppendBytes([]byte{0x0a}, few), 0x0a, 0)
	}
	if _, err := trimmer.Append(nil, few); err != nil || load(few) != nil || open(few) != nil {
		t.Error("messages merged on a few levels are refused", err)
	}
}
