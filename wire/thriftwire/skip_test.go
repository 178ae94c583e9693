package thriftwire_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// skipCase is a value and what Skip makes of it: the end and 0, or the place
// of the fault and its code.
type skipCase struct {
	what  string
	t     thriftwire.Type
	in    string
	depth int
	end   int
	code  int
}

var skipCases = []skipCase{
	{"an empty struct", thriftwire.Struct, "\x00rest", 1, 1, 0},
	{"a struct at depth 0", thriftwire.Struct, "\x00", 0, 0, thriftwire.ErrDepth},
	{"a number at depth 0", thriftwire.I32, "abcd", 0, 4, 0},
	{"a string at depth 0", thriftwire.String, "\x00\x00\x00\x01a", 0, 5, 0},
	{"an empty list at depth 0", thriftwire.List, "\x08\x00\x00\x00\x00", 0, 0, thriftwire.ErrDepth},
	{"no type", thriftwire.Stop, "\x00", 9, 0, thriftwire.ErrType},
	{"a type that does not exist", 7, "\x00", 9, 0, thriftwire.ErrType},

	{"a field whose id is cut", thriftwire.Struct, "\x08\x00", 1, 0, thriftwire.ErrEOF},
	{"a number that is cut", thriftwire.Struct, "\x08\x00\x01abc", 1, 3, thriftwire.ErrEOF},
	{"a string that is cut", thriftwire.Struct, "\x0b\x00\x01\x00\x00\x00\x03ab", 1, 3, thriftwire.ErrEOF},
	{"a string of negative length", thriftwire.Struct, "\x0b\x00\x01\xff\xff\xff\xff", 1, 3, thriftwire.ErrLength},
	{"a field of no type after another", thriftwire.Struct, "\x03\x00\x01_\x01\x00\x02", 1, 4, thriftwire.ErrType},
	{"a struct without a stop", thriftwire.Struct, "\x03\x00\x01_", 1, 4, thriftwire.ErrEOF},
	{"a struct in a struct", thriftwire.Struct, "\x0c\x00\x01\x00\x00", 2, 5, 0},
	{"a struct in a struct, too deep", thriftwire.Struct, "\x0c\x00\x01\x00\x00", 1, 3, thriftwire.ErrDepth},

	{"a list of empty structs", thriftwire.List, "\x0c\x00\x00\x00\x03\x00\x00\x00", 2, 8, 0},
	{"a list of structs, too deep", thriftwire.List, "\x0c\x00\x00\x00\x01\x00", 1, 5, thriftwire.ErrDepth},
	{"an empty list of structs needs no depth for them", thriftwire.List, "\x0c\x00\x00\x00\x00", 1, 5, 0},
	{"a set of strings, the second cut", thriftwire.Set, "\x0b\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x05", 1, 10, thriftwire.ErrEOF},
	{"a list that cannot be", thriftwire.List, "\x0a\x40\x00\x00\x00", 1, 0, thriftwire.ErrEOF},

	{"a map of numbers", thriftwire.Map, "\x03\x06\x00\x00\x00\x02_--_--", 1, 12, 0},
	{"a map of a number to a string, cut", thriftwire.Map, "\x03\x0b\x00\x00\x00\x02_\x00\x00\x00\x01a_\x00\x00\x00\x01", 1, 13, thriftwire.ErrEOF},
	{"a map with a struct for a key, too deep", thriftwire.Map, "\x0c\x03\x00\x00\x00\x01\x00_", 1, 6, thriftwire.ErrDepth},
	{"a map with a struct for a value, too deep", thriftwire.Map, "\x03\x0c\x00\x00\x00\x01_\x00", 1, 7, thriftwire.ErrDepth},
	{"a map with a fault in its key", thriftwire.Map, "\x0c\x03\x00\x00\x00\x01\x05_", 2, 6, thriftwire.ErrType},
}

func TestSkipSaysWhereAValueEndsOrBreaks(t *testing.T) {
	edge := guard.New(t, 4096)
	for _, c := range skipCases {
		// The place counts from the start of the input, wherever the value is.
		for _, before := range []string{"", "\x0c\x0c\x0c"} {
			in := edge.Put([]byte(before + c.in))
			end, code := thriftwire.SkipAt(in, len(before), c.t, c.depth)
			if end != len(before)+c.end || code != c.code {
				t.Errorf("%s: %d (%v), want %d (%v)", c.what, end-len(before), thriftwire.Error(code), c.end, thriftwire.Error(c.code))
			}
		}
		want := c.end
		if c.code < 0 {
			want = c.code
		}
		if n := thriftwire.Skip(edge.Put([]byte(c.in)), c.t, c.depth); n != want {
			t.Errorf("%s: Skip is %d, want %d", c.what, n, want)
		}
	}
}

func TestElementsAndEntriesAreSkippedTogetherAsOneByOne(t *testing.T) {
	edge := guard.New(t, 4096)
	struct1 := "\x08\x00\x01abcd\x00"
	for _, c := range []struct {
		what      string
		key, elem thriftwire.Type // no key: elements
		in        string
		n, depth  int
		end, code int
	}{
		{"nothing", 0, thriftwire.I32, "", 0, 0, 0, 0},
		{"numbers", 0, thriftwire.I16, "aabb", 2, 0, 4, 0},
		{"numbers, the second cut", 0, thriftwire.I16, "aab", 2, 0, 2, thriftwire.ErrEOF},
		{"strings", 0, thriftwire.String, "\x00\x00\x00\x01a\x00\x00\x00\x00", 2, 0, 9, 0},
		{"strings, the second of negative length", 0, thriftwire.String, "\x00\x00\x00\x01a\xff\x00\x00\x00", 2, 0, 5, thriftwire.ErrLength},
		{"structs", 0, thriftwire.Struct, struct1 + struct1, 2, 1, 16, 0},
		{"structs, the second cut", 0, thriftwire.Struct, struct1 + struct1[:5], 2, 1, 11, thriftwire.ErrEOF},
		{"structs that are too deep", 0, thriftwire.Struct, struct1, 1, 0, 0, thriftwire.ErrDepth},
		{"elements of no type", 0, 7, struct1, 1, 1, 0, thriftwire.ErrType},
		{"entries of numbers", thriftwire.I8, thriftwire.I16, "abbabb", 2, 0, 6, 0},
		{"entries of numbers, one cut", thriftwire.I8, thriftwire.I16, "abbab", 2, 0, 4, thriftwire.ErrEOF},
		{"entries of strings to structs", thriftwire.String, thriftwire.Struct, "\x00\x00\x00\x01a" + struct1, 1, 1, 13, 0},
		{"entries of structs to strings, cut", thriftwire.Struct, thriftwire.String, struct1 + "\x00\x00\x00\x01", 1, 1, 8, thriftwire.ErrEOF},
		{"entries whose values are too deep", thriftwire.I8, thriftwire.Struct, "a" + struct1, 1, 0, 1, thriftwire.ErrDepth},
	} {
		in := edge.Put([]byte(c.in))
		end, code := thriftwire.SkipElements(in, 0, c.elem, c.n, c.depth)
		if c.key != thriftwire.Stop {
			end, code = thriftwire.SkipEntries(in, 0, c.key, c.elem, c.n, c.depth)
		}
		if end != c.end || code != c.code {
			t.Errorf("%s: %d (%v), want %d (%v)", c.what, end, thriftwire.Error(code), c.end, thriftwire.Error(c.code))
		}
	}
}

func TestSkipFollowsNestingToItsLimitAndNoFurther(t *testing.T) {
	nested := func(header string, levels int) []byte {
		return []byte(strings.Repeat(header, levels) + "\x00" + strings.Repeat("\x00", levels))
	}
	for _, header := range []string{"\x0c\x00\x01", "\x0f\x00\x01\x0c\x00\x00\x00\x01"} {
		levels := strings.Count(header, "") / 4 // one for a struct, two with a list around
		b := nested(header, 31)
		if n := thriftwire.Skip(b, thriftwire.Struct, 1+31*levels); n != len(b) {
			t.Errorf("%q: at the limit: %d, want %d", header, n, len(b))
		}
		if n := thriftwire.Skip(b, thriftwire.Struct, 31*levels); n != thriftwire.ErrDepth {
			t.Errorf("%q: below the limit: %d", header, n)
		}
	}
	b := nested("\x0c\x00\x01", 1<<20)
	if end, code := thriftwire.SkipAt(b, 0, thriftwire.Struct, 1<<30); code != thriftwire.ErrDepth || end != 3*4096 {
		t.Errorf("a million levels: %d, %d", end, code)
	}
}

func TestReadingWritingAndSkippingDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	text := "some text"
	if n := testing.AllocsPerRun(100, func() {
		b := thriftwire.AppendMessage(buf, thriftwire.Call, "method", 7)
		b = thriftwire.AppendField(b, thriftwire.Map, 1)
		b = thriftwire.AppendMap(b, thriftwire.String, thriftwire.List, 1)
		b = thriftwire.AppendString(b, text)
		b = thriftwire.AppendList(b, thriftwire.Struct, 1)
		b = thriftwire.AppendStop(thriftwire.AppendUUID(thriftwire.AppendField(b, thriftwire.UUID, 2), [16]byte{1}))
		b = thriftwire.AppendStop(b)
		m, n := thriftwire.ConsumeMessage(b)
		if string(m.Name) != "method" {
			t.Error(m)
		}
		if end := thriftwire.Skip(b[n:], thriftwire.Struct, 8); end != len(b)-n {
			t.Error(end)
		}
		_, _, n2 := thriftwire.ConsumeField(b[n:])
		_, _, _, n3 := thriftwire.ConsumeMap(b[n+n2:])
		if s, _ := thriftwire.ConsumeBytes(b[n+n2+n3:]); string(s) != text {
			t.Error(s)
		}
		thriftwire.Skip(b[:len(b)-1], thriftwire.Struct, 8)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSkip(f *testing.F) {
	for _, c := range skipCases {
		f.Add([]byte(c.in), byte(c.t))
	}
	f.Fuzz(func(t *testing.T, b []byte, typ byte) {
		if len(b) > 1<<16 {
			return
		}
		in := guard.New(t, len(b)).Put(b)
		end, code := thriftwire.SkipAt(in, 0, thriftwire.Type(typ), 16)
		if end < 0 || end > len(b) || code > 0 {
			t.Fatalf("ended at %d with %d", end, code)
		}
		if code < 0 {
			return
		}
		// What was skipped is complete, and no prefix of it is.
		if n := thriftwire.Skip(b[:end], thriftwire.Type(typ), 16); n != end {
			t.Fatalf("%d bytes suffice, but alone they are %d", end, n)
		}
		if end > 0 {
			if n := thriftwire.Skip(b[:end-1], thriftwire.Type(typ), 16); n != thriftwire.ErrEOF {
				t.Fatalf("one byte less is %d", n)
			}
		}
	})
}

func FuzzConsumeMessage(f *testing.F) {
	f.Add(thriftwire.AppendMessage(nil, thriftwire.Call, "method", 1))
	f.Add(thriftwire.AppendNonStrictMessage(nil, thriftwire.Reply, "method", -1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		in := guard.New(t, len(b)).Put(b)
		if m, n := thriftwire.ConsumeMessage(in); n > 0 {
			again := thriftwire.AppendMessage(nil, m.Type, string(m.Name), m.SequenceID)
			again[2] = b[2] // a byte that nobody reads
			if string(again) != string(b[:n]) {
				t.Fatalf("%x was read as %x", b[:n], again)
			}
		}
		if m, n := thriftwire.ConsumeNonStrictMessage(in); n > 0 {
			if again := thriftwire.AppendNonStrictMessage(nil, m.Type, string(m.Name), m.SequenceID); string(again) != string(b[:n]) {
				t.Fatalf("%x was read as %x", b[:n], again)
			}
		}
	})
}
