package protobuf_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// randomAny returns a random value of type typ as Any shows it.
func randomAny(c *corpus, typ *schema.Type) any {
	for _, md := range c.messages {
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			have := c.structs[md.FullName()].Fields()[i].Type()
			if have.Kind() == schema.List && typ.Kind() != schema.List {
				have = have.Elem()
			}
			if have.String() != typ.String() || have.Struct() != typ.Struct() || have.Encoding() != typ.Encoding() {
				continue
			}
			for {
				m := dynamicpb.NewMessage(md)
				c.fill(m, 1)
				v, ok := content(m)[string(fd.Name())]
				if list, isList := v.([]any); isList && typ.Kind() != schema.List {
					v = list[0]
				}
				if ok {
					return v
				}
			}
		}
	}
	return nil
}

// edit returns v, of type typ, with the part at the path set to x, or deleted if
// x is nil: slowly, on Go values.
func edit(v any, typ *schema.Type, path []protobuf.Step, x any) any {
	if len(path) == 0 {
		return x
	}
	s, rest := path[0], path[1:]
	switch typ.Kind() {
	case schema.Struct:
		m, _ := v.(map[string]any)
		out := map[string]any{}
		for k, e := range m {
			out[k] = e
		}
		f, _ := s.FieldOf(typ.Struct())
		e := edit(m[f.Name()], f.Type(), rest, x)
		if e == nil {
			delete(out, f.Name())
			return orNil(v, out)
		}
		if list, ok := e.([]any); ok && len(list) == 0 {
			delete(out, f.Name())
			return out
		}
		out[f.Name()] = e
		if o := f.Oneof(); o != nil {
			for _, other := range o.Fields() {
				if other != f {
					delete(out, other.Name())
				}
			}
		}
		return out
	case schema.List:
		list, _ := v.([]any)
		i := int(s.Number())
		switch s.Kind() {
		case dynamic.EndStep:
			return slices.Insert(slices.Clone(list), len(list), x)
		case dynamic.BeforeStep:
			return slices.Insert(slices.Clone(list), i, x)
		}
		e := edit(list[i], typ.Elem(), rest, x)
		if e == nil {
			return slices.Delete(slices.Clone(list), i, i+1)
		}
		out := slices.Clone(list)
		out[i] = e
		return out
	default:
		m, _ := v.(map[any]any)
		out := map[any]any{}
		for k, e := range m {
			out[k] = e
		}
		key := keyOf(s, typ.Key())
		if e := edit(m[key], typ.Elem(), rest, x); e != nil {
			out[key] = e
		} else {
			delete(out, key)
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
}

// orNil keeps a message that does not stand absent if nothing was set in it.
func orNil(v any, out map[string]any) any {
	if v == nil && len(out) == 0 {
		return nil
	}
	return out
}

func keyOf(s protobuf.Step, t *schema.Type) any {
	switch t.Kind() {
	case schema.String:
		return s.Text()
	case schema.Bool:
		return s.Number() != 0
	case schema.I32:
		return int32(s.Number())
	case schema.I64:
		return s.Number()
	case schema.U32:
		return uint32(s.Number())
	default:
		return uint64(s.Number())
	}
}

// target is a place that can be set, and the type of what stands there.
type target struct {
	path []protobuf.Step
	typ  *schema.Type
}

// targets returns the places in v, with gaps and absent fields.
func targets(c *corpus, v any, typ *schema.Type) []target {
	var out []target
	walkTyped(v, typ, nil, func(path []protobuf.Step, v any, typ *schema.Type) {
		if len(path) > 0 {
			out = append(out, target{path, typ})
		}
		at := path[:len(path):len(path)]
		switch typ.Kind() {
		case schema.Struct:
			for _, f := range typ.Struct().Fields() {
				out = append(out, target{append(at, protobuf.Field(f.ID())), f.Type()})
				if f.Type().Kind() == schema.Struct {
					for _, part := range f.Type().Struct().Fields() {
						out = append(out, target{append(at, protobuf.Name(f.Name()), protobuf.Name(part.Name())), part.Type()})
					}
				}
			}
		case schema.List:
			list, _ := v.([]any)
			out = append(out, target{append(at, protobuf.End()), typ.Elem()}, target{append(at, protobuf.Before(c.rng.IntN(len(list)+1))), typ.Elem()})
		case schema.Map:
			out = append(out, target{append(at, keyStep(randomKey(c, typ.Key()))), typ.Elem()})
		}
	})
	return out
}

func randomKey(c *corpus, t *schema.Type) any {
	n := c.rng.Uint64() >> c.rng.IntN(64)
	switch t.Kind() {
	case schema.String:
		return fmt.Sprint("s", n%60)
	case schema.Bool:
		return n&1 == 0
	case schema.I32:
		return int32(n)
	case schema.I64:
		return int64(n)
	case schema.U32:
		return uint32(n)
	default:
		return n
	}
}

// walkTyped is walk with the type of each part.
func walkTyped(v any, typ *schema.Type, path []protobuf.Step, f func(path []protobuf.Step, v any, typ *schema.Type)) {
	f(path, v, typ)
	at := path[:len(path):len(path)]
	switch x := v.(type) {
	case map[string]any:
		for _, field := range typ.Struct().Fields() {
			if e, ok := x[field.Name()]; ok {
				walkTyped(e, field.Type(), append(at, protobuf.Name(field.Name())), f)
			}
		}
	case []any:
		for i, e := range x {
			walkTyped(e, typ.Elem(), append(at, protobuf.Index(i)), f)
		}
	case map[any]any:
		for k, e := range x {
			walkTyped(e, typ.Elem(), append(at, keyStep(k)), f)
		}
	}
}

// wanted is how Google's library shows the Go value v of a message.
func wanted(t *testing.T, md protoreflect.MessageDescriptor, typ *schema.Type, v any) string {
	t.Helper()
	if v == nil {
		v = map[string]any{}
	}
	b, err := protobuf.AppendAny(nil, typ, v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	return show(mustParse(t, md, b))
}

func TestSettingChangesWhatThePathLeadsTo(t *testing.T) {
	each(t, 30, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		before := content(mustParse(t, md, b))
		for _, target := range targets(c, before, typ) {
			var x any
			var node protobuf.Node
			last := target.path[len(target.path)-1].Kind()
			gap := last == dynamic.EndStep || last == dynamic.BeforeStep
			if c.rng.IntN(3) > 0 || gap {
				x = randomAny(c, target.typ)
			}
			if x != nil {
				made, err := protobuf.MakeAny(target.typ, x)
				if err != nil {
					t.Error(err)
					return
				}
				node = made.Node
			} else if gap {
				continue
			}
			want := wanted(t, md, typ, edit(before, typ, target.path, x))
			out, err := v.AppendSet([]byte("kept"), node, target.path...)
			if err != nil || string(out[:4]) != "kept" {
				t.Errorf("%v = %v: %v", target.path, x, err)
				return
			}
			if got := show(mustParse(t, md, out[4:])); got != want {
				t.Errorf("%v = %#v:\ngot  %s\nwant %s\nbytes %x", target.path, x, got, want, out[4:])
				return
			}
			unknownKept(t, md, b, out[4:])
		}
	})
}

// unknownKept checks that the unknown fields of the message itself are those
// that were there.
func unknownKept(t *testing.T, md protoreflect.MessageDescriptor, before, after []byte) {
	t.Helper()
	if a, b := mustParse(t, md, before).GetUnknown(), mustParse(t, md, after).GetUnknown(); string(a) != string(b) {
		t.Errorf("unknown fields %x became %x", a, b)
	}
}

// independent reports whether two paths can be set together, and whether a must
// be set before b if they are set one by one.
func independent(a, b []protobuf.Step, typ *schema.Type) (ok, first bool) {
	for i := range min(len(a), len(b)) {
		switch typ.Kind() {
		case schema.Struct:
			f, _ := a[i].FieldOf(typ.Struct())
			g, _ := b[i].FieldOf(typ.Struct())
			if f != g {
				return f.Oneof() == nil || f.Oneof() != g.Oneof(), false
			}
			typ = f.Type()
			continue
		case schema.List:
			x, y := place(a[i]), place(b[i])
			if x != y {
				return true, x > y
			}
		default:
			if x, y := keyOf(a[i], typ.Key()), keyOf(b[i], typ.Key()); x != y {
				return true, false
			}
		}
		typ = typ.Elem()
	}
	return false, false
}

// place orders the steps into a list.
func place(s protobuf.Step) int64 {
	switch s.Kind() {
	case dynamic.EndStep:
		return 1 << 60
	case dynamic.BeforeStep:
		return s.Number() * 2
	}
	return s.Number()*2 + 1
}

func TestSettingManyIsSettingEach(t *testing.T) {
	each(t, 50, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		all := targets(c, content(mustParse(t, md, b)), typ)
		c.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var chosen []target
		for _, candidate := range all {
			if !slices.ContainsFunc(chosen, func(other target) bool { ok, _ := independent(candidate.path, other.path, typ); return !ok }) {
				chosen = append(chosen, candidate)
			}
		}
		chosen = chosen[:c.rng.IntN(min(len(chosen), 14)+1)]
		var paths [][]protobuf.Step
		var values []protobuf.Node
		for _, target := range chosen {
			var node protobuf.Node
			if x := randomAny(c, target.typ); x != nil && c.rng.IntN(3) > 0 {
				made, err := protobuf.MakeAny(target.typ, x)
				if err != nil {
					t.Error(err)
				}
				node = made.Node
			}
			paths, values = append(paths, target.path), append(values, node)
		}
		set, err := protobuf.CompileAll(typ, paths...)
		if err != nil {
			t.Error(err)
			return
		}
		out, err := set.AppendSet(nil, v.Node, values)
		if err != nil {
			t.Errorf("%v: %v", paths, err)
			return
		}
		order := make([]int, len(paths))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			if _, first := independent(paths[i], paths[j], typ); first {
				return -1
			}
			if _, first := independent(paths[j], paths[i], typ); first {
				return 1
			}
			return 0
		})
		// The order is partial, so that sorting may not see all of it: it is
		// bubbled until nothing is out of order.
		for sorted := false; !sorted; {
			sorted = true
			for i := range order {
				for j := range i {
					if _, first := independent(paths[order[i]], paths[order[j]], typ); first {
						order[i], order[j], sorted = order[j], order[i], false
					}
				}
			}
		}
		one := b
		for _, i := range order {
			if one, err = protobuf.NewValue(typ, one).AppendSet(nil, values[i], paths[i]...); err != nil {
				t.Errorf("%v: %v", paths[i], err)
				return
			}
		}
		if got, want := show(mustParse(t, md, out)), show(mustParse(t, md, one)); got != want {
			t.Errorf("%v:\ngot  %s\nwant %s\nbytes %x", paths, got, want, out)
		}
		unknownKept(t, md, b, out)
	})
}

func TestBareNodesAreSetByNumber(t *testing.T) {
	each(t, 40, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		for _, f := range typ.Struct().Fields() {
			if f.Oneof() != nil || f.Type().Kind().IsContainer() || f.Type().Encoding() == schema.Delimited {
				continue
			}
			path := []protobuf.Step{protobuf.Field(f.ID())}
			out, err := v.Node.AppendDelete(nil, path...)
			if err != nil || show(mustParse(t, md, out)) != wanted(t, md, typ, edit(content(mustParse(t, md, b)), typ, path, nil)) {
				t.Errorf("%v: %x, %v", path, out, err)
			}
			if f.Type().Kind() != schema.String {
				continue
			}
			out, err = v.Node.AppendSet(nil, protobuf.NewString("new"), path...)
			if err != nil || show(mustParse(t, md, out)) != wanted(t, md, typ, edit(content(mustParse(t, md, b)), typ, path, "new")) {
				t.Errorf("%v: %x, %v", path, out, err)
			}
		}
	})
}

func TestWhatCannotBeSetIsRefused(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"items": []any{map[string]any{}}, "counts": []any{1, 2}, "ids": map[any]any{1: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	set := func(text string, x protobuf.Node) error {
		path, err := protobuf.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		dst := []byte("kept")
		out, err := v.AppendSet(dst, x, path...)
		if err != nil && (string(out) != "kept") {
			t.Errorf("%s: dst became %q", text, out)
		}
		return err
	}
	for _, c := range []struct {
		path  string
		x     protobuf.Node
		code  diag.Code
		fault string
	}{
		{"name", protobuf.NewInt(1), diag.TypeMismatch, "name"}, {"discount", protobuf.NewInt(1 << 31), diag.OutOfRange, "discount"},
		{"discount", protobuf.NewString("a"), diag.TypeMismatch, "discount"}, {"state", protobuf.NewBool(true), diag.TypeMismatch, "state"},
		{"number", protobuf.NewInt(-1), diag.OutOfRange, "number"}, {"items[1].name", protobuf.NewString("a"), diag.OutOfRange, "items[1]"},
		{"items[^2]", protobuf.NewMessage(nil), diag.OutOfRange, "items[^2]"}, {"items[0]", protobuf.NewMessage([]byte{1}), diag.InvalidValue, "items[0]"},
		{"counts[2]", protobuf.NewInt(1), diag.OutOfRange, "counts[2]"}, {"counts[-1]", protobuf.NewInt(1), diag.OutOfRange, "counts[-1]"},
		{"counts[1]", protobuf.NewString("a"), diag.TypeMismatch, "counts[1]"}, {"counts[$]", protobuf.NewInt(1 << 40), diag.OutOfRange, "counts[$]"},
		{"ids[1]", protobuf.NewInt(1), diag.TypeMismatch, "ids[1]"}, {"ids", protobuf.NewInt(1), diag.TypeMismatch, "ids"},
		{"gift", protobuf.NewMessage([]byte{0x0c}), diag.InvalidValue, "gift"},
	} {
		checkFault(t, c.path, set(c.path, c.x), c.code, c.fault)
	}
	for _, text := range []string{"items[1]", "items[9].name", "counts[7]", "counts[-1]", "ids[2]", "voucher.name", "gift.tags[0]"} {
		path, _ := protobuf.ParsePath(text)
		if out, err := v.AppendDelete(nil, path...); err != nil || string(out) != string(v.Raw()) {
			t.Errorf("deleting %s: %x, %v", text, out, err)
		}
	}
	paths, err := protobuf.CompileAll(typ, []protobuf.Step{protobuf.Name("card")}, []protobuf.Step{protobuf.Name("voucher"), protobuf.Name("name")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = paths.AppendSet(nil, v.Node, []protobuf.Node{protobuf.NewString("1"), protobuf.NewString("2")})
	checkFault(t, "two members", err, diag.InvalidUnion, "voucher")
	if _, err := v.Node.AppendSet(nil, protobuf.NewInt(1), protobuf.Field(10), protobuf.Field(1)); diag.CodeOf(err) != diag.NotFound {
		t.Error(err)
	}
	if _, err := v.Node.AppendSet(nil, protobuf.NewInt(1), protobuf.Field(8), protobuf.Index(1)); diag.CodeOf(err) != diag.Unsupported {
		t.Error(err)
	}
}

func TestPackedListsStayPacked(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"counts": []any{1, 300}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		x    protobuf.Node
		want string
	}{
		{"counts[$]", protobuf.NewInt(2), "\x42\x04\x01\xac\x02\x02"}, {"counts[^0]", protobuf.NewInt(2), "\x42\x04\x02\x01\xac\x02"},
		{"counts[^2]", protobuf.NewInt(2), "\x42\x04\x01\xac\x02\x02"}, {"counts[1]", protobuf.NewInt(2), "\x42\x02\x01\x02"},
		{"counts[1]", protobuf.Node{}, "\x42\x01\x01"}, {"counts", protobuf.Node{}, ""},
	} {
		path, _ := protobuf.ParsePath(c.path)
		if out, err := v.AppendSet(nil, c.x, path...); err != nil || string(out) != c.want {
			t.Errorf("%s: %x, %v", c.path, out, err)
		}
	}
	empty := protobuf.NewValue(typ, nil)
	if out, err := empty.AppendSet(nil, protobuf.NewInt(2), protobuf.Name("counts"), protobuf.End()); err != nil || string(out) != "\x42\x01\x02" {
		t.Errorf("a new list: %x, %v", out, err)
	}
}

func TestListsAndMapsAloneAreChanged(t *testing.T) {
	list := schema.ListOf(schema.Basic(schema.String))
	v, err := protobuf.MakeAny(list, []any{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := v.AppendSet(nil, protobuf.NewString("c"), protobuf.Before(1))
	if x, _ := protobuf.NewValue(list, out).Any(); err != nil || fmt.Sprint(x) != "[a c b]" {
		t.Errorf("%v, %v", x, err)
	}
	m := schema.MapOf(schema.Basic(schema.U64), list.Elem())
	if v, err = protobuf.MakeAny(m, map[any]any{7: "a"}); err != nil {
		t.Fatal(err)
	}
	out, err = v.AppendSet(nil, protobuf.NewString("c"), protobuf.UintKey(8))
	if x, _ := protobuf.NewValue(m, out).Any(); err != nil || fmt.Sprint(x) != "map[7:a 8:c]" {
		t.Errorf("%v, %v", x, err)
	}
}
