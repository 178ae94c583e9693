package protobuf_test

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
)

// FuzzRead reads any bytes along any paths: nothing may panic, and what Google's
// library reads must be read as the same.
func FuzzRead(f *testing.F) {
	c := newCorpus(f, 1)
	for i, md := range c.messages {
		f.Add(uint64(i), c.draw(f, md), "items[0].name")
	}
	f.Fuzz(func(t *testing.T, seed uint64, b []byte, text string) {
		c := newCorpus(t, seed%64)
		md := c.messages[seed/64%messageCount]
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		compareCheck(t, c, md, b)
		got, err := v.Any()
		m, want := parse(md, b)
		if want == nil {
			if s := fmt.Sprintf("%#v", withoutZeros(got, typ)); err != nil || s != show(m) {
				t.Errorf("got  %s, %v\nwant %s", s, err, show(m))
			}
			for _, path := range somePaths(c, typ, content(m)) {
				if _, err := v.Get(path...); err != nil {
					t.Errorf("%v: %v", path, err)
				}
			}
		}
		for it := v.Iterate(); it.Next(); {
			_, _ = it.Value().Any()
			_, _ = it.Value().Len()
		}
		for it := v.Node.Iterate(); it.Next(); {
			_, _ = it.Value().Node.Any()
		}
		steps, err := protobuf.ParsePath(text)
		if err != nil {
			return
		}
		for _, n := range []protobuf.Value{v, {Node: v.Node}} {
			one, err := n.Get(steps...)
			path, err2 := protobuf.Compile(n.Type(), steps...)
			if err2 != nil {
				continue
			}
			two, err2 := path.Get(n.Node)
			if (err == nil) != (err2 == nil) || string(one.Raw()) != string(two.Raw()) {
				t.Errorf("%s: %x, %v and %x, %v", text, one.Raw(), err, two.Raw(), err2)
			}
			set, err := protobuf.CompileAll(n.Type(), steps, nil)
			if err != nil {
				t.Error(err)
				continue
			}
			_ = set.Get(n.Node, make([]protobuf.Value, 2))
		}
	})
}

// FuzzSet changes any bytes at random places: nothing may panic, and where
// Google's library reads the message, the result is what the change makes of it.
func FuzzSet(f *testing.F) {
	c := newCorpus(f, 1)
	for i, md := range c.messages {
		f.Add(uint64(i), c.draw(f, md), "items[0].name", []byte("x"))
	}
	f.Fuzz(func(t *testing.T, seed uint64, b []byte, text string, x []byte) {
		c := newCorpus(t, seed%64)
		md := c.messages[seed/64%messageCount]
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		if steps, err := protobuf.ParsePath(text); err == nil {
			_, _ = v.AppendSet(nil, protobuf.NewMessage(x), steps...)
			_, _ = v.AppendDelete(nil, steps...)
			_, _ = v.Node.AppendSet(nil, protobuf.NewMessage(x), steps...)
		}
		m, err := parse(md, b)
		if err != nil {
			return
		}
		before := content(m)
		if !isUnicode(before) {
			return // what was wanted cannot be written of Go values, which must be UTF-8
		}
		for _, target := range targets(c, before, typ) {
			if last := target.path[len(target.path)-1].Kind(); last == dynamic.EndStep || last == dynamic.BeforeStep {
				continue
			}
			want := wanted(t, md, typ, edit(before, typ, target.path, nil))
			out, err := v.AppendDelete(nil, target.path...)
			if err != nil {
				t.Fatalf("%v: %v", target.path, err)
			}
			if got := show(mustParse(t, md, out)); got != want {
				t.Fatalf("%v deleted:\ngot  %s\nwant %s\nbytes %x", target.path, got, want, out)
			}
		}
	})
}

// isUnicode tells whether all text in a value is UTF-8.
func isUnicode(x any) bool {
	switch x := x.(type) {
	case string:
		return utf8.ValidString(x)
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return !isUnicode(e) })
	case map[string]any:
		for _, e := range x {
			if !isUnicode(e) {
				return false
			}
		}
	case map[any]any:
		for k, e := range x {
			if !isUnicode(k) || !isUnicode(e) {
				return false
			}
		}
	}
	return true
}

// FuzzTrim trims any bytes: nothing may panic, and what is kept is what
// Google's library reads of it.
func FuzzTrim(f *testing.F) {
	c := newCorpus(f, 1)
	for i, md := range c.messages {
		f.Add(uint64(i), c.draw(f, md))
	}
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		c := newCorpus(t, seed%64)
		md := c.messages[seed/64%messageCount]
		typ := c.schema(md)
		to := smaller(c)[typ.Struct()].Type()
		trimmer, err := protobuf.NewTrimmer(typ, to)
		if err != nil {
			t.Fatal(err)
		}
		out, err := trimmer.Append(nil, b)
		if len(out) > len(b) {
			t.Errorf("%x became longer: %x", b, out)
		}
		m, err2 := parse(md, b)
		if err2 != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(mustParse(t, md, out)), fmt.Sprintf("%#v", cutTo(content(m), to)); got != want {
			t.Errorf("got  %s\nwant %s\nbytes %x", got, want, out)
		}
	})
}

// FuzzTree takes any bytes apart: nothing may panic, what is refused is what
// Check refuses, and what is written anew is what Google's library reads.
func FuzzTree(f *testing.F) {
	c := newCorpus(f, 1)
	for i, md := range c.messages {
		f.Add(uint64(i), c.draw(f, md), true)
	}
	f.Fuzz(func(t *testing.T, seed uint64, b []byte, open bool) {
		c := newCorpus(t, seed%64)
		md := c.messages[seed/64%messageCount]
		typ := c.schema(md)
		v := protobuf.NewValue(typ, b)
		var tree protobuf.Tree
		load := tree.Load
		if open {
			load = tree.Open
		}
		err, check := load(v), v.Check()
		if err == nil && check != nil && open {
			t.Fatalf("opened what Check refuses: %v", check)
		}
		if err != nil {
			if check == nil {
				t.Fatalf("Check has nothing against it, but: %v", err)
			}
			return
		}
		m, err := parse(md, b)
		if err != nil {
			return
		}
		var touch func(i protobuf.Item)
		touch = func(i protobuf.Item) {
			i.Sort(func(a, b protobuf.Item) int { return 0 })
			for part := i.First(); part.Exists(); part = part.Next() {
				touch(part)
			}
		}
		touch(tree.Root())
		out, err := tree.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(mustParse(t, md, out)), show(m); got != want {
			t.Errorf("got %s\nwant %s\nbytes %x", got, want, out)
		}
	})
}
