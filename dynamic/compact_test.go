package dynamic_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file holds compact messages against their binary twins: whatever is
// done to both gives the same.

// dialect is a compact protocol under the names of this package and the model's.
type dialect struct {
	dynamic.Protocol
	model conform.Protocol
}

var dialects = []dialect{{dynamic.Compact, conform.Apache}, {dynamic.CompactFBThrift, conform.FBThrift}}

// encode returns the model's encoding of a value.
func (d dialect) encode(t *schema.Type, v *schema.Value) []byte {
	return conform.Append(nil, d.model, t, v)
}

// randomTwins draws a message and its bytes in a compact protocol and the binary one.
func randomTwins(t *rapid.T) (d dialect, typ *schema.Type, model *schema.Value, compact, bin []byte) {
	d = rapid.SampledFrom(dialects).Draw(t, "dialect")
	typ = conform.Struct(t, conform.DefaultShape.Of(d.model))
	model = conform.Value(t, typ, 5)
	return d, typ, model, d.encode(typ, model), binary(typ, model)
}

// inBinary returns the bytes of a node in the binary protocol.
func inBinary(t interface{ Fatalf(string, ...any) }, n dynamic.Node) []byte {
	if !n.Exists() {
		return nil
	}
	b, err := n.AppendIn(nil, dynamic.Binary)
	if err != nil {
		t.Fatalf("%v %x: %v", n.Protocol(), n.Raw(), err)
	}
	return b
}

// pathsOf returns the paths to the parts of a message but itself. Keys given as
// values have been through the compact protocol, where empty maps lose their types.
func (d dialect) pathsOf(t *schema.Type, v *schema.Value, depth, most int) [][]dynamic.Step {
	var paths [][]dynamic.Step
	for _, p := range places(t, v, nil, depth)[1:] {
		for i, s := range p.path {
			var wire thriftwire.Type
			var key []byte
			if n, _ := fmt.Sscanf(s.String(), "[#%d:%x]", &wire, &key); n == 2 {
				b, err := dynamic.NewNode(wire, key).AppendIn(nil, d.Protocol)
				if err != nil {
					panic(err)
				}
				p.path[i] = dynamic.NodeKey(d.NewNode(wire, b))
			}
		}
		if paths = append(paths, p.path); len(paths) == most {
			break
		}
	}
	return paths
}

// sameFault reports whether two errors say the same, but for the offset.
func sameFault(a, b error) bool {
	f, ok1 := a.(*diag.Fault)
	g, ok2 := b.(*diag.Fault)
	if !ok1 || !ok2 {
		return a == nil && b == nil
	}
	return f.Code == g.Code && f.Path() == g.Path() && (f.Offset < 0) == (g.Offset < 0)
}

func TestProtocolsAreNumberedAsTheDialectsOfTheWire(t *testing.T) {
	for p, want := range map[dynamic.Protocol]string{
		dynamic.Binary: "binary", dynamic.Compact: "compact", dynamic.CompactFBThrift: "fbthrift's compact", 9: "unknown protocol",
	} {
		if p.String() != want {
			t.Errorf("%d is %s", p, p)
		}
	}
	half := dynamic.NewDouble(1.5)
	for _, c := range []struct {
		p    dynamic.Protocol
		want string
	}{{dynamic.Binary, "\x3f\xf8\x00\x00\x00\x00\x00\x00"}, {dynamic.Compact, "\x00\x00\x00\x00\x00\x00\xf8\x3f"}, {dynamic.CompactFBThrift, "\x3f\xf8\x00\x00\x00\x00\x00\x00"}} {
		b, err := half.AppendIn(nil, c.p)
		if err != nil || string(b) != c.want {
			t.Errorf("1.5 in %s is %x, %v", c.p, b, err)
		}
		if v, err := c.p.NewNode(thriftwire.Double, b).Float(); v != 1.5 || err != nil {
			t.Errorf("%x in %s is %v, %v", b, c.p, v, err)
		}
	}
}

func TestEveryPartOfARandomCompactMessageIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		all := places(typ, model, nil, 4)
		all = all[:min(len(all), 150)]
		v := d.NewValue(typ, append(b, "rest"...))
		var paths [][]dynamic.Step
		for _, p := range all {
			paths = append(paths, p.path)
			want := d.encode(p.typ, p.value)
			compiled, err := dynamic.Compile(typ, p.path...)
			if err != nil {
				rt.Fatal(err)
			}
			bySteps, err1 := v.Get(p.path...)
			byNode, err2 := v.Node.Get(p.path...)
			byPath, err3 := compiled.Get(v.Node)
			if err1 != nil || err2 != nil || err3 != nil {
				rt.Fatalf("%s: %v, %v, %v", compiled, err1, err2, err3)
			}
			for i, got := range []dynamic.Node{bySteps.Node, byNode, byPath.Node} {
				if !bytes.Equal(got.Raw(), want) || cap(got.Raw()) != len(want) || got.Protocol() != d.Protocol || got.WireType() != conform.Wire(p.typ) {
					rt.Fatalf("way %d to %s: %x, want %x", i, compiled, got.Raw(), want)
				}
			}
			if bySteps.Type() != p.typ || byPath.Type() != p.typ {
				rt.Fatalf("%s has another type", compiled)
			}
		}
		set, err := dynamic.CompileAll(typ, paths...)
		if err != nil {
			rt.Fatal(err)
		}
		out := make([]dynamic.Value, len(all))
		if err := set.Get(v.Node, out); err != nil {
			rt.Fatal(err)
		}
		for i, p := range all {
			if !bytes.Equal(out[i].Raw(), d.encode(p.typ, p.value)) || out[i].Type() != p.typ || out[i].Protocol() != d.Protocol {
				rt.Fatalf("path %d of many: %x", i, out[i].Raw())
			}
		}
	})
}

func TestCompactMessagesReadAsTheirBinaryTwins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, _, b, twin := randomTwins(rt)
		c, v := d.NewValue(typ, b), dynamic.NewValue(typ, twin)
		readAlike(rt, c, v)
		// What has been through the compact protocol has lost the types of its
		// empty maps, so the way back is what is compared.
		for _, n := range []dynamic.Node{v.Node, dynamic.NewNode(thriftwire.Struct, inBinary(rt, c.Node))} {
			if got, err := n.AppendIn(nil, d.Protocol); err != nil || !bytes.Equal(got, b) {
				rt.Fatalf("%x in %s: %x, %v", n.Raw(), d, got, err)
			}
		}
	})
}

// readAlike checks that two values have the same parts and read the same, all
// the way down.
func readAlike(t interface{ Fatalf(string, ...any) }, a, b dynamic.Value) {
	if a.Type() != b.Type() || a.WireType() != b.WireType() {
		t.Fatalf("%v and %v", a.WireType(), b.WireType())
	}
	reads := func(v dynamic.Value) string {
		var s string
		add := func(x any, err error) {
			if _, isFault := err.(*diag.Fault); isFault {
				x = "refused"
			}
			s += fmt.Sprint(x, " ")
		}
		x, err := v.Bool()
		add(x, err)
		i, err := v.Int()
		add(i, err)
		f, err := v.Float()
		add(f, err)
		text, err := v.Text()
		add(text, err)
		u, err := v.UUID()
		add(u, err)
		n, err := v.Len()
		add(n, err)
		e, err := v.EnumName()
		add(e, err)
		goValue, err := v.Any()
		add(goValue, err)
		return s
	}
	if x, y := reads(a), reads(b); x != y {
		t.Fatalf("%x is read as\n%s\n%x as\n%s", a.Raw(), x, b.Raw(), y)
	}
	it, jt := a.Iterate(), b.Iterate()
	for it.Next() {
		if !jt.Next() || it.ID() != jt.ID() || it.Index() != jt.Index() || it.Field() != jt.Field() {
			t.Fatalf("parts %d of %x and %x differ", it.Index(), a.Raw(), b.Raw())
		}
		if it.Key().Exists() {
			readAlike(t, it.Key(), jt.Key())
		}
		readAlike(t, it.Value(), jt.Value())
	}
	if jt.Next() || !sameFault(it.Err(), jt.Err()) {
		t.Fatalf("%x ended with %v, %x with %v", a.Raw(), it.Err(), b.Raw(), jt.Err())
	}
}

// checkReading follows paths into compact bytes of any kind. Whatever is a
// message must read as its binary twin, the rest gives faults.
func checkReading(t interface{ Fatalf(string, ...any) }, c dynamic.Value, paths [][]dynamic.Step) {
	size := len(c.Raw())
	twin, err := c.AppendIn(nil, dynamic.Binary)
	whole := err == nil
	v := dynamic.Value{Node: dynamic.NewNode(c.WireType(), twin)}
	if c.Type() != nil {
		v = dynamic.NewValue(c.Type(), twin)
	}
	for _, path := range paths {
		got, err := c.Get(path...)
		if err != nil {
			checkIsFault(t, err, size)
		} else if got.Exists() && got.Check() != nil {
			t.Fatalf("%v is %x", path, got.Raw())
		}
		if !whole {
			continue
		}
		want, wantErr := v.Get(path...)
		if !sameFault(err, wantErr) || err == nil && !bytes.Equal(inBinary(t, got.Node), want.Raw()) {
			t.Fatalf("%v of %x is %x (%v), of %x %x (%v)", path, c.Raw(), got.Raw(), err, twin, want.Raw(), wantErr)
		}
	}
	goValue, err := c.Any()
	if err != nil {
		checkIsFault(t, err, size)
	}
	if !whole {
		return
	}
	if want, wantErr := v.Any(); !sameFault(err, wantErr) || fmt.Sprint(goValue) != fmt.Sprint(want) {
		t.Fatalf("%v (%v) and %v (%v)", goValue, err, want, wantErr)
	}
	set, err := dynamic.CompileAll(c.Type(), paths...)
	if err != nil {
		return
	}
	out, wanted := make([]dynamic.Value, len(paths)), make([]dynamic.Value, len(paths))
	err, wantErr := set.Get(c.Node, out), set.Get(v.Node, wanted)
	if !sameFault(err, wantErr) {
		t.Fatalf("many of %x: %v, of %x: %v", c.Raw(), err, twin, wantErr)
	}
	for i := range out {
		if err == nil && !bytes.Equal(inBinary(t, out[i].Node), wanted[i].Raw()) {
			t.Fatalf("path %d of many: %x and %x", i, out[i].Raw(), wanted[i].Raw())
		}
	}
}

func TestDamagedCompactMessagesReadAsTheirBinaryTwinsOrFail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, typ, model, b, _ := randomTwins(rt)
		paths := d.pathsOf(typ, model, 3, 30)
		damaged := conform.Damaged(rt, b)
		checkReading(rt, d.NewValue(typ, damaged), paths)
		checkReading(rt, dynamic.Value{Node: d.NewNode(thriftwire.Struct, damaged)}, paths)
	})
}
