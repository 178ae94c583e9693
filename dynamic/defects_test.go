package dynamic_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds a test for each defect known of other dynamic layers that
// this one could have.

func TestDefectTheFieldTableIsTrustedAndNotTheWire(t *testing.T) {
	// An i64 field that carries a string.
	b := thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 2), "12345678")
	b = thriftwire.AppendStop(b)
	v := dynamic.NewValue(simple.Type(), b)
	_, err := v.Get(dynamic.Name("i64Field"))
	checkFault(t, "Get", err, diag.TypeMismatch, 0, "i64Field")
	path, _ := dynamic.Compile(simple.Type(), dynamic.Field(2))
	_, err = path.Get(v.Node)
	checkFault(t, "Path.Get", err, diag.TypeMismatch, 0, "i64Field")
	set, _ := dynamic.CompileAll(simple.Type(), []dynamic.Step{dynamic.Field(2)})
	err = set.Get(v.Node, make([]dynamic.Value, 1))
	checkFault(t, "Paths.Get", err, diag.TypeMismatch, 3, "i64Field")
	_, err = v.Any()
	checkFault(t, "Any", err, diag.TypeMismatch, 0, "i64Field")
	it := v.Iterate()
	for it.Next() {
		t.Error("the iterator shows the field")
	}
	checkFault(t, "Iterate", it.Err(), diag.TypeMismatch, 0, "i64Field")
}

func TestDefectElementsOfAnotherTypeAreTakenForTheSchemas(t *testing.T) {
	b := thriftwire.AppendList(thriftwire.AppendField(nil, thriftwire.List, 13), thriftwire.I32, 2)
	b = thriftwire.AppendStop(append(b, make([]byte, 8)...))
	v := dynamic.NewValue(nesting.Type(), b)
	_, err := v.Get(dynamic.Field(13), dynamic.Index(0))
	checkFault(t, "Get", err, diag.TypeMismatch, 3, "listI64[0]")
	_, err = v.Any()
	checkFault(t, "Any", err, diag.TypeMismatch, 3, "listI64")
	_, err = v.AppendDelete(nil, dynamic.Field(13), dynamic.Index(0))
	checkFault(t, "AppendDelete", err, diag.TypeMismatch, 3, "listI64")
	list, _ := v.Get(dynamic.Field(13))
	if it := list.Iterate(); it.Next() || diag.CodeOf(it.Err()) != diag.TypeMismatch {
		t.Error("Iterate:", it.Err())
	}
}

func TestDefectNestingIsFollowedWithoutALimit(t *testing.T) {
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{field(1, "next", node.Type()), field(2, "value", tI32)})
	const levels = 100_000
	v := dynamic.NewValue(node.Type(), []byte(strings.Repeat("\x0c\x00\x01", levels)+strings.Repeat("\x00", levels+1)))
	_, err := v.Get(dynamic.Name("value"))
	checkFault(t, "Get", err, diag.DepthLimit, 3*1023+3, "value")
	_, err = v.Any()
	if diag.CodeOf(err) != diag.DepthLimit {
		t.Error("Any:", err)
	}
	if err := v.Check(); diag.CodeOf(err) != diag.DepthLimit {
		t.Error("Check:", err)
	}
	steps := make([]dynamic.Step, 2000)
	for i := range steps {
		steps[i] = dynamic.Field(1)
	}
	if _, err := v.Get(steps...); diag.CodeOf(err) != diag.DepthLimit {
		t.Error("a long path:", err)
	}
	if _, err := v.AppendDelete(nil, steps...); diag.CodeOf(err) != diag.DepthLimit {
		t.Error("a long path:", err)
	}
}

func TestDefectCyclicTypesPanicOrLoop(t *testing.T) {
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{
		field(1, "next", node.Type()), field(2, "children", schema.ListOf(node.Type())), field(3, "byName", schema.MapOf(tString, node.Type())), field(4, "value", tI32)})
	b, err := dynamic.AppendAny(nil, node.Type(), map[string]any{
		"next": map[string]any{"children": []any{map[string]any{"byName": map[string]any{"a": map[string]any{"value": 7}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	v := dynamic.NewValue(node.Type(), b)
	if n, err := get(t, v, `next.children[0].byName["a"].value`); err != nil || shown(t, n) != "7" {
		t.Errorf("%v, %v", n, err)
	}
	// A Go value that contains itself ends at the limit of depth.
	loop := map[string]any{}
	loop["next"] = loop
	if _, err := dynamic.AppendAny(nil, node.Type(), loop); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
}

func TestDefectResultsReachPastTheBuffer(t *testing.T) {
	b := simpleMessage()
	v := dynamic.NewValue(simple.Type(), b)
	last, err := v.Get(dynamic.Field(6))
	if err != nil {
		t.Fatal(err)
	}
	text, err := last.Bytes()
	if err != nil || cap(last.Raw()) != len(last.Raw()) || cap(text) != len(text) {
		t.Errorf("capacities %d and %d", cap(last.Raw()), cap(text))
	}
	before := string(b)
	_ = append(last.Raw(), 'x')
	_ = append(text, 'x')
	if string(b) != before {
		t.Error("appending to a result changed the message")
	}
}

func TestDefectKeysThatAreBoolDoubleOrStructAreUnsupported(t *testing.T) {
	v := of(t, shop.Type(), `{byBool: {true: 1}, byDouble: {0.5: 2}, byPoint: {{x: 1, y: 2}: "p"}}`)
	x, err := v.Any()
	if err != nil {
		t.Fatal(err)
	}
	m := x.(map[string]any)
	if m["byBool"].(map[any]any)[true] != int8(1) || m["byDouble"].(map[any]any)[0.5] != int8(2) {
		t.Error(m)
	}
	if e := m["byPoint"].([]dynamic.Entry)[0]; e.Value != "p" || e.Key.(map[string]any)["y"] != int32(2) {
		t.Error(m)
	}
	b, err := dynamic.AppendAny(nil, shop.Type(), x)
	if err != nil || shown(t, dynamic.NewValue(shop.Type(), b)) != shown(t, v) {
		t.Errorf("%x, %v", b, err)
	}
}

func TestDefectUnknownEnumNamesAreNotNoticed(t *testing.T) {
	v := of(t, shop.Type(), `{color: BLUE}`)
	if _, err := v.AppendSet(nil, dynamic.NewI32(1), dynamic.Name("byColor"), dynamic.Key("GREEN")); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
	c, _ := v.Get(dynamic.Name("color"))
	if name, err := c.EnumName(); name != "BLUE" || err != nil {
		t.Error(name, err)
	}
}

func TestTypesThatThriftDoesNotHaveAreRefused(t *testing.T) {
	u32 := schema.Basic(schema.U32)
	s := structOf("S", field(1, "number", u32), field(2, "list", schema.ListOf(u32)), field(3, "ids", schema.MapOf(u32, tI32)), field(1<<16+4, "far", tI32))
	for text, code := range map[string]diag.Code{
		"number": diag.Unsupported, "list[0]": diag.Unsupported, "ids[1]": diag.TypeMismatch, "far": diag.Unsupported,
	} {
		steps, err := dynamic.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dynamic.Compile(s.Type(), steps...); diag.CodeOf(err) != code {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := dynamic.AppendAny(nil, s.Type(), map[string]any{"number": 1}); diag.CodeOf(err) == 0 {
		t.Error("an unsigned number is written")
	}
	v := dynamic.NewValue(s.Type(), thriftwire.AppendStop(thriftwire.AppendI32(thriftwire.AppendField(nil, thriftwire.I32, 1), 7)))
	if _, err := v.Any(); diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
}

// An empty value at the end of a message: a pointer to what follows it would
// point past the buffer, at another object or at none, which upsets the collector.
func TestDefectEmptyValuesAtTheEndPointPastTheBuffer(t *testing.T) {
	// The last four bytes are the length of an empty string; the message has no stop.
	b := thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 5), "")
	b = b[:len(b):len(b)]
	n := dynamic.NewNode(thriftwire.Struct, b)
	part, err := n.Get(dynamic.Field(5))
	if err != nil {
		t.Fatal(err)
	}
	var kept [][]byte
	for range 1000 {
		text, err := part.Bytes()
		if err != nil || len(text) != 0 || cap(text) != 0 {
			t.Fatalf("%d bytes, room for %d, %v", len(text), cap(text), err)
		}
		kept = append(kept, text, part.Raw()[len(part.Raw()):])
	}
	runtime.GC() // stops the program at a pointer to no object
	runtime.KeepAlive(kept)
	// Nothing reads past the end either, wherever a message ends.
	buffer := guard.New(t, len(nestingMessage()))
	many, err := dynamic.CompileAll(nesting.Type(), []dynamic.Step{dynamic.Field(15), dynamic.Key("15")}, []dynamic.Step{dynamic.Field(2), dynamic.Index(15)})
	if err != nil {
		t.Fatal(err)
	}
	trimmer, err := dynamic.NewTrimmer(nesting.Type(), partialNesting.Type())
	if err != nil {
		t.Fatal(err)
	}
	whole := nestingMessage()
	var tree dynamic.Tree
	for end := 0; end < len(whole); end += 7 {
		v := dynamic.NewValue(nesting.Type(), buffer.Put(whole[:end]))
		_, _ = v.Get(dynamic.Field(15), dynamic.Key("15"))
		_ = many.Get(v.Node, make([]dynamic.Value, 2))
		_, _ = many.AppendSet(nil, v.Node, make([]dynamic.Node, 2))
		if _, _, err := trimmer.Append(nil, v.Raw()); diag.CodeOf(err) != diag.UnexpectedEOF {
			t.Fatalf("%d bytes are trimmed: %v", end, err)
		}
		if err := tree.Load(v); diag.CodeOf(err) != diag.UnexpectedEOF {
			t.Fatalf("%d bytes are loaded: %v", end, err)
		}
		if err := v.Check(); diag.CodeOf(err) != diag.UnexpectedEOF {
			t.Fatalf("%d bytes pass: %v", end, err)
		}
	}
}

func TestDefectCyclicTypesCannotBeTrimmedOrMasked(t *testing.T) {
	cyclic := func(name string, ids ...int32) *schema.StructDef {
		d := schema.NewStruct(schema.DeclSpec{Name: name}, schema.PlainStruct)
		var fields []*schema.Field
		for _, f := range []*schema.Field{
			field(1, "next", d.Type()), field(2, "children", schema.ListOf(d.Type())), field(3, "value", tI32), field(4, "secret", tI32),
		} {
			for _, id := range ids {
				if f.ID() == id {
					fields = append(fields, f)
				}
			}
		}
		d.Complete(fields)
		return d
	}
	whole, part := cyclic("Whole", 1, 2, 3, 4), cyclic("Part", 1, 2, 3)
	b, err := dynamic.AppendAny(nil, whole.Type(), map[string]any{"secret": 1, "next": map[string]any{"secret": 2, "value": 3,
		"children": []any{map[string]any{"value": 4, "secret": 5}}}})
	if err != nil {
		t.Fatal(err)
	}
	trimmer, err := dynamic.NewTrimmer(whole.Type(), part.Type())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := trimmer.Append(nil, b)
	if err != nil || shown(t, dynamic.NewValue(part.Type(), out)) != "{next: {children: [{value: 4}], value: 3}}" && shown(t, dynamic.NewValue(part.Type(), out)) != "{next: {value: 3, children: [{value: 4}]}}" {
		t.Errorf("%s, %v", shown(t, dynamic.NewValue(part.Type(), out)), err)
	}
	mask, err := dynamic.NewMask(whole.Type(), "next(children(value))")
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err = mask.Append(nil, b); err != nil || shown(t, dynamic.NewValue(whole.Type(), out)) != "{next: {children: [{value: 4}]}}" {
		t.Errorf("%s, %v", shown(t, dynamic.NewValue(whole.Type(), out)), err)
	}
	// Nesting without an end is a fault, not a loop.
	deep := []byte(strings.Repeat("\x0c\x00\x01", 5000))
	if _, _, err := trimmer.Append(nil, deep); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	var tree dynamic.Tree
	if err := tree.Load(dynamic.NewValue(whole.Type(), deep)); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
}

func TestDefectNumbersAreCorruptedSilently(t *testing.T) {
	for _, c := range []struct {
		field string
		value any
		code  diag.Code
	}{
		{"byteField", 300, diag.OutOfRange}, {"byteField", -129, diag.OutOfRange}, {"i64Field", uint64(1) << 63, diag.OutOfRange},
		{"i32Field", int64(1) << 31, diag.OutOfRange}, {"i64Field", 1.7, diag.InvalidValue}, {"doubleField", int64(1)<<53 + 1, diag.OutOfRange},
	} {
		_, err := dynamic.AppendAny(nil, simple.Type(), map[string]any{c.field: c.value})
		checkFault(t, "AppendAny", err, c.code, -1, c.field)
	}
	// A key beyond the map's type is refused where it is written, not cut.
	v := dynamic.NewValue(nesting.Type(), nestingMessage())
	_, err := v.AppendSet(nil, dynamic.NewI64(1), dynamic.Name("mapI32I64"), dynamic.IntKey(1<<40))
	if diag.CodeOf(err) != diag.TypeMismatch {
		t.Error(err)
	}
}

// Of a field that stands twice the first counts, in every way of reading and changing.
func TestDefectDuplicateFieldsAreReadDifferently(t *testing.T) {
	b := thriftwire.AppendI32(thriftwire.AppendField(nil, thriftwire.I32, 4), 1)
	b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 4), 2)
	v := dynamic.NewValue(simple.Type(), thriftwire.AppendStop(b))
	check := func(what string, got dynamic.Value, err error) {
		t.Helper()
		if n, _ := got.Int(); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	got, err := v.Get(dynamic.Field(4))
	check("Get", got, err)
	many, err := dynamic.CompileAll(simple.Type(), []dynamic.Step{dynamic.Field(4)}, []dynamic.Step{dynamic.Field(6)})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]dynamic.Value, 2)
	err = many.Get(v.Node, out)
	check("Paths.Get", out[0], err)
	var tree dynamic.Tree
	if err := tree.Load(v); err != nil {
		t.Fatal(err)
	}
	got, err = tree.Root().Get(dynamic.Field(4)).Value()
	check("Tree", got, err)
}
