package protowire_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/wire/protowire"
	google "google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// anyVarint is any number, all lengths being equally likely.
var anyVarint = rapid.Custom(func(t *rapid.T) uint64 {
	return rapid.Uint64().Draw(t, "bits") >> rapid.IntRange(0, 63).Draw(t, "shift")
})

// agrees checks that we write v as Google's library does, read it back, and
// that every shorter input is an unexpected EOF.
func agrees[T any](t *rapid.T, v T, equal func(a, b T) bool, ours, theirs func([]byte, T) []byte, consume func([]byte) (T, int)) {
	t.Helper()
	want := theirs(nil, v)
	got := ours([]byte("kept"), v)
	if !bytes.Equal(got, append([]byte("kept"), want...)) {
		t.Fatalf("%v: wrote %x, Google %x", v, got[4:], want)
	}
	for _, rest := range []string{"", "\xff", strings.Repeat("\xff", 16)} {
		if back, n := consume(append(bytes.Clone(want), rest...)); n != len(want) || !equal(back, v) {
			t.Fatalf("%v: read %v of %d bytes", v, back, n)
		}
	}
	var zero T
	for i := range want {
		if back, n := consume(want[:i]); n != protowire.ErrEOF || !equal(back, zero) {
			t.Fatalf("%v cut to %d bytes: %v, %d", v, i, back, n)
		}
	}
}

func same[T comparable](a, b T) bool { return a == b }

type tag struct {
	number int32
	t      protowire.Type
}

func TestValuesAgreeWithGoogle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agrees(t, anyVarint.Draw(t, "varint"), same, protowire.AppendVarint, google.AppendVarint, protowire.ConsumeVarint)
		agrees(t, rapid.Uint32().Draw(t, "fixed32"), same, protowire.AppendFixed32, google.AppendFixed32, protowire.ConsumeFixed32)
		agrees(t, rapid.Uint64().Draw(t, "fixed64"), same, protowire.AppendFixed64, google.AppendFixed64, protowire.ConsumeFixed64)
		agrees(t, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"), bytes.Equal, protowire.AppendBytes, google.AppendBytes, protowire.ConsumeBytes)
		agrees(t, rapid.String().Draw(t, "string"), same, protowire.AppendString, google.AppendString,
			func(b []byte) (string, int) { s, n := protowire.ConsumeBytes(b); return string(s), n })
		agrees(t, rapid.Bool().Draw(t, "bool"), same, protowire.AppendBool,
			func(b []byte, v bool) []byte { return google.AppendVarint(b, google.EncodeBool(v)) },
			func(b []byte) (bool, int) { u, n := protowire.ConsumeVarint(b); return u != 0, n })
		anyTag := tag{rapid.Int32Range(1, protowire.MaxNumber).Draw(t, "number"), protowire.Type(rapid.IntRange(0, 5).Draw(t, "type"))}
		agrees(t, anyTag, same,
			func(b []byte, v tag) []byte { return protowire.AppendTag(b, v.number, v.t) },
			func(b []byte, v tag) []byte { return google.AppendTag(b, google.Number(v.number), google.Type(v.t)) },
			func(b []byte) (v tag, n int) { v.number, v.t, n = protowire.ConsumeTag(b); return })
	})
}

func TestSizesAndZigZagAgreeWithGoogle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := anyVarint.Draw(t, "number")
		if got, want := protowire.SizeVarint(u), google.SizeVarint(u); got != want {
			t.Errorf("a varint of %d takes %d, want %d", u, got, want)
		}
		if got, want := protowire.ZigZag(int64(u)), google.EncodeZigZag(int64(u)); got != want {
			t.Errorf("%d zigzagged is %d, want %d", int64(u), got, want)
		}
		if got := protowire.ZagZig(protowire.ZigZag(int64(u))); got != int64(u) {
			t.Errorf("%d came back as %d", int64(u), got)
		}
		number := 1 + int32(u%protowire.MaxNumber)
		if got, want := protowire.SizeTag(number), google.SizeTag(google.Number(number)); got != want {
			t.Errorf("a tag of %d takes %d, want %d", number, got, want)
		}
		n := int(u % math.MaxInt32)
		if got, want := protowire.SizeBytes(n), google.SizeBytes(n); got != want {
			t.Errorf("%d bytes take %d, want %d", n, got, want)
		}
	})
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	varint := func(b string) int { _, n := protowire.ConsumeVarint([]byte(b)); return n }
	tag := func(b string) int { _, _, n := protowire.ConsumeTag([]byte(b)); return n }
	length := func(b string) int { _, n := protowire.ConsumeBytes([]byte(b)); return n }
	nines := strings.Repeat("\xff", 9)
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"a varint of 64 bits", varint(nines + "\x01"), 10},
		{"a varint of 65 bits", varint(nines + "\x02"), protowire.ErrData},
		{"a varint of 11 bytes", varint(nines + "\x80\x00"), protowire.ErrData},
		{"a padded varint", varint("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00"), 10},
		{"a padded varint near the end", varint("\x81\x80\x00"), 3},
		{"field 0", tag("\x00"), protowire.ErrNumber},
		{"the greatest field", tag("\xf8\xff\xff\xff\x0f"), 5},
		{"a greater field", tag("\x80\x80\x80\x80\x10"), protowire.ErrNumber},
		{"a field beyond 32 bits", tag("\x88\x80\x80\x80\x80\x01"), protowire.ErrNumber},
		{"wire type 6", tag("\x0e"), protowire.ErrType},
		{"wire type 7", tag("\x0f"), protowire.ErrType},
		{"a length of 2 GiB", length("\x80\x80\x80\x80\x08"), protowire.ErrLength},
		{"a length just below, of which nothing has come", length("\xff\xff\xff\xff\x07"), protowire.ErrEOF},
		{"a length of 64 bits", length(nines + "\x01"), protowire.ErrLength},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.what, c.got, protowire.Error(c.got), c.want)
		}
	}
}

func TestAppendingFillsAGapExactly(t *testing.T) {
	for shift := range 64 {
		b := bytes.Repeat([]byte{0xee}, 20)
		u := uint64(1) << shift
		if got := protowire.AppendVarint(b[:2], u); len(got) != 2+protowire.SizeVarint(u) || b[len(got)] != 0xee || b[1] != 0xee {
			t.Errorf("1<<%d became %x in %x", shift, got, b)
		}
	}
}

func TestAppendingToWhatWasConsumedLeavesTheInputAlone(t *testing.T) {
	b := append(protowire.AppendString(nil, "abc"), "rest"...)
	v, n := protowire.ConsumeBytes(b)
	_ = append(v, "XYZ"...)
	if string(b[n:]) != "rest" {
		t.Errorf("the input became %q", b)
	}
}

// skipCases are values and what Skip makes of them: the end and 0, or the place
// of the fault and its code.
var skipCases = []struct {
	what   string
	number int32
	t      protowire.Type
	in     string
	depth  int
	end    int
	code   int
}{
	{"a varint", 1, protowire.Varint, "\x80\x01rest", 0, 2, 0},
	{"fixed32", 1, protowire.Fixed32, "abcdrest", 0, 4, 0},
	{"fixed64", 1, protowire.Fixed64, "abcdefghrest", 0, 8, 0},
	{"bytes", 1, protowire.Bytes, "\x02abrest", 0, 3, 0},
	{"bytes that are cut", 1, protowire.Bytes, "\x02a", 0, 0, protowire.ErrEOF},
	{"an empty group", 1, protowire.StartGroup, "\x0crest", 1, 1, 0},
	{"a group with fields", 2, protowire.StartGroup, "\x08\x01\x12\x01a\x14", 1, 6, 0},
	{"a group in a group", 1, protowire.StartGroup, "\x13\x14\x0c", 2, 3, 0},
	{"a group in a group, too deep", 1, protowire.StartGroup, "\x13\x14\x0c", 1, 1, protowire.ErrDepth},
	{"a group too deep", 1, protowire.StartGroup, "\x0c", 0, 0, protowire.ErrDepth},
	{"a group with another's end", 1, protowire.StartGroup, "\x08\x01\x14", 1, 2, protowire.ErrGroup},
	{"a group without an end", 1, protowire.StartGroup, "\x08\x01", 1, 2, protowire.ErrEOF},
	{"a group with field 0", 1, protowire.StartGroup, "\x08\x01\x00", 1, 2, protowire.ErrNumber},
	{"a group with a broken varint", 1, protowire.StartGroup, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1, 1, protowire.ErrData},
	{"an end without a group", 1, protowire.EndGroup, "", 1, 0, protowire.ErrGroup},
	{"a type that does not exist", 1, 6, "", 1, 0, protowire.ErrType},
}

func TestSkipSaysWhereAValueEndsOrBreaks(t *testing.T) {
	edge := guard.New(t, 4096)
	for _, c := range skipCases {
		for _, before := range []string{"", "\x0b\x0b"} {
			in := edge.Put([]byte(before + c.in))
			end, code := protowire.SkipAt(in, len(before), c.number, c.t, c.depth)
			if end != len(before)+c.end || code != c.code {
				t.Errorf("%s: %d (%v), want %d (%v)", c.what, end-len(before), protowire.Error(code), c.end, protowire.Error(c.code))
			}
		}
		want := c.end
		if c.code < 0 {
			want = c.code
		}
		if n := protowire.Skip(edge.Put([]byte(c.in)), c.number, c.t, c.depth); n != want {
			t.Errorf("%s: Skip is %d, want %d", c.what, n, want)
		}
	}
}

func TestSkipFollowsGroupsToItsLimitAndNoFurther(t *testing.T) {
	nested := func(levels int) []byte {
		return []byte(strings.Repeat("\x0b", levels) + strings.Repeat("\x0c", levels+1))
	}
	if b := nested(31); protowire.Skip(b, 1, protowire.StartGroup, 32) != len(b) {
		t.Error("32 levels were not skipped")
	}
	if n := protowire.Skip(nested(31), 1, protowire.StartGroup, 31); n != protowire.ErrDepth {
		t.Errorf("32 levels of 31: %d", n)
	}
	if end, code := protowire.SkipAt(nested(1<<20), 0, 1, protowire.StartGroup, 1<<30); code != protowire.ErrDepth || end != 4096 {
		t.Errorf("a million levels: %d, %d", end, code)
	}
}

func TestReadingWritingAndSkippingDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		b := protowire.AppendTag(buf, 1, protowire.StartGroup)
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.Bytes), "text")
		b = protowire.AppendVarint(protowire.AppendTag(b, 300, protowire.Varint), math.MaxUint64)
		b = protowire.AppendTag(b, 1, protowire.EndGroup)
		number, typ, n := protowire.ConsumeTag(b)
		if end := protowire.Skip(b[n:], number, typ, 8); end != len(b)-n {
			t.Error(end)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrorsCanBeTold(t *testing.T) {
	if protowire.Error(0) != nil || protowire.Error(5) != nil {
		t.Error("what is no error became one")
	}
	seen := map[string]bool{}
	for n := protowire.ErrEOF; n >= protowire.ErrData-1; n-- {
		if text := protowire.Error(n).Error(); seen[text] || !strings.HasPrefix(text, "protowire: ") {
			t.Errorf("%d is %q", n, text)
		} else {
			seen[text] = true
		}
	}
	if got := protowire.Type(6).String() + protowire.Bytes.String(); got != "type 6bytes" {
		t.Error(got)
	}
}

// FuzzSkip takes any bytes for a field and compares with Google's library.
func FuzzSkip(f *testing.F) {
	for _, c := range skipCases {
		f.Add(append(protowire.AppendTag(nil, c.number, c.t), c.in...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		in := guard.New(t, len(b)).Put(b)
		number, typ, n := protowire.ConsumeTag(in)
		_, _, want := google.ConsumeField(b)
		if n > 0 {
			if n2 := protowire.Skip(in[n:], number, typ, 4096); n2 >= 0 {
				n += n2
			} else {
				n = n2
			}
		}
		// Google's takes longer field numbers, lengths beyond 2 GiB as a
		// missing end, and deeper groups.
		switch {
		case n == protowire.ErrNumber || n == protowire.ErrLength || n == protowire.ErrDepth:
		case (n < 0) != (want < 0) || n > 0 && n != want:
			t.Fatalf("%x: %d (%v), Google %d (%v)", b, n, protowire.Error(n), want, google.ParseError(want))
		case n > 0: // no prefix of it is complete
			number, typ, n2 := protowire.ConsumeTag(in[:n-1])
			if n2 > 0 {
				n2 = protowire.Skip(in[n2:n-1], number, typ, 4096)
			}
			if n2 != protowire.ErrEOF {
				t.Fatalf("%x: one byte less is %d", b[:n], n2)
			}
		}
	})
}
