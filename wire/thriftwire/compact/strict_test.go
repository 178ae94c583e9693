package compact_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds what is refused, and skipping.

func TestReadersRefuseWhatCannotBe(t *testing.T) {
	boolean := func(b string) int { _, n := compact.ConsumeBool([]byte(b)); return n }
	i16 := func(b string) int { _, n := compact.ConsumeI16([]byte(b)); return n }
	i32 := func(b string) int { _, n := compact.ConsumeI32([]byte(b)); return n }
	i64 := func(b string) int { _, n := compact.ConsumeI64([]byte(b)); return n }
	text := func(b string) int { _, n := compact.ConsumeBytes([]byte(b)); return n }
	field := func(b string, last int16) int { _, n := compact.Apache.ConsumeField([]byte(b), last); return n }
	list := func(b string) int { _, _, n := compact.Apache.ConsumeList([]byte(b)); return n }
	dict := func(b string) int { _, _, _, n := compact.Apache.ConsumeMap([]byte(b)); return n }
	message := func(b string) int { _, _, n := compact.ConsumeMessage([]byte(b)); return n }
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"a bool of 0, as some write false", boolean("\x00"), 1},
		{"a bool of 3", boolean("\x03"), thriftwire.ErrData},
		{"a varint that goes on", i32("\x80\x80"), thriftwire.ErrEOF},
		{"a padded varint", i32("\x81\x80\x80\x80\x00"), 5},
		{"an i32 of six bytes", i32("\x80\x80\x80\x80\x80\x00"), thriftwire.ErrData},
		{"an i32 of which five bytes have come and a sixth must", i32("\x80\x80\x80\x80\x80"), thriftwire.ErrData},
		{"an i32 of 33 bits", i32("\xff\xff\xff\xff\x1f"), thriftwire.ErrData},
		{"an i32 of 32 bits", i32("\xff\xff\xff\xff\x0f"), 5},
		{"an i16 of 17 bits", i16("\xff\xff\x07"), thriftwire.ErrData},
		{"an i16 of 16 bits", i16("\xff\xff\x03"), 3},
		{"an i64 of 64 bits", i64("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 10},
		{"an i64 of 65 bits", i64("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), thriftwire.ErrData},
		{"an i64 of eleven bytes", i64("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), thriftwire.ErrData},
		{"a string longer than the input", text("\x05abcd"), thriftwire.ErrEOF},
		{"a string of two gigabytes", text("\xff\xff\xff\xff\x07"), thriftwire.ErrEOF},
		{"a string of more", text("\x80\x80\x80\x80\x08"), thriftwire.ErrLength},
		{"a field of type 14", field("\x1e", 0), thriftwire.ErrType},
		{"a field of type 0 that is no stop", field("\x10", 0), thriftwire.ErrType},
		{"a field with an id of 17 bits", field("\x05\xff\xff\x07", 0), thriftwire.ErrData},
		{"a field past the last id", field("\x15", 32767), thriftwire.ErrData},
		{"a field with the last id", field("\x15", 32766), 1},
		{"a list of type 15", list("\x1f_"), thriftwire.ErrType},
		{"an empty list of no type", list("\x00"), 1},
		{"three i32 in three bytes", list("\x35___"), 1},
		{"three i32 in two", list("\x35__"), thriftwire.ErrEOF},
		{"two doubles in 15 bytes", list("\x27_______________"), thriftwire.ErrEOF},
		{"a thousand million booleans in no space", list("\xf1\x80\x94\xeb\xdc\x03"), thriftwire.ErrEOF},
		{"a list of negative size", list("\xf1\xff\xff\xff\xff\x0f"), thriftwire.ErrLength},
		{"an empty map", dict("\x00"), 1},
		{"a map of one, types to come", dict("\x01"), thriftwire.ErrEOF},
		{"a map of one i8 to a double in 8 bytes", dict("\x01\x37________"), thriftwire.ErrEOF},
		{"a map of one i8 to a double in 9", dict("\x01\x37_________"), 2},
		{"a map of no type", dict("\x01\x0355"), thriftwire.ErrType},
		{"a map of a type 14", dict("\x01\x3e55"), thriftwire.ErrType},
		{"a map of more than two thousand million", dict("\x80\x80\x80\x80\x08"), thriftwire.ErrLength},
		{"the binary protocol", message("\x80\x01\x00\x01"), thriftwire.ErrVersion},
		{"version 3", message("\x82\x23\x00\x00"), thriftwire.ErrVersion},
		{"message type 0", message("\x82\x01\x00\x00"), thriftwire.ErrType},
		{"message type 5", message("\x82\xa1\x00\x00"), thriftwire.ErrType},
		{"a sequence id of 33 bits", message("\x82\x21\xff\xff\xff\xff\x1f\x00"), thriftwire.ErrData},
		{"a name over the limit, of which nothing has come", message("\x82\x21\x00\x81\x80\x04"), thriftwire.ErrLength},
		{"a name at the limit", message("\x82\x21\x00\x80\x80\x04" + strings.Repeat("n", thriftwire.MaxNameLength)), 6 + thriftwire.MaxNameLength},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.what, c.got, thriftwire.Error(c.got), c.want)
		}
	}
}

// skipCase is a value and what Skip makes of it: the end and 0, or the place
// of the fault and its code.
type skipCase struct {
	what  string
	d     compact.Dialect
	t     thriftwire.Type
	in    string
	depth int
	end   int
	code  int
}

var skipCases = []skipCase{
	{"a bool element", compact.Apache, thriftwire.Bool, "\x01", 0, 1, 0},
	{"bool fields have no bytes", compact.Apache, thriftwire.Struct, "\x11\x12\x01\x08\x00", 1, 5, 0},
	{"a struct at depth 0", compact.Apache, thriftwire.Struct, "\x00", 0, 0, thriftwire.ErrDepth},
	{"a uuid of Apache", compact.Apache, thriftwire.Struct, "\x1d0123456789abcdef\x00", 1, 18, 0},
	{"a float of fbthrift", compact.FBThrift, thriftwire.Struct, "\x1d0123\x00", 1, 6, 0},
	{"a float by itself is not Apache's", compact.Apache, thriftwire.Float, "0123", 1, 0, thriftwire.ErrType},
	{"a uuid by itself is not fbthrift's", compact.FBThrift, thriftwire.UUID, "0123456789abcdef", 1, 0, thriftwire.ErrType},
	{"a varint that is cut", compact.Apache, thriftwire.Struct, "\x15\x80", 1, 1, thriftwire.ErrEOF},
	{"a varint that is too long", compact.Apache, thriftwire.Struct, "\x15\x80\x80\x80\x80\x80\x80\x00", 1, 1, thriftwire.ErrData},
	{"a string that is cut", compact.Apache, thriftwire.Struct, "\x18\x03ab", 1, 1, thriftwire.ErrEOF},
	{"a struct in a struct", compact.Apache, thriftwire.Struct, "\x1c\x00\x00", 2, 3, 0},
	{"a struct in a struct, too deep", compact.Apache, thriftwire.Struct, "\x1c\x00\x00", 1, 1, thriftwire.ErrDepth},
	{"ids count anew in each struct", compact.Apache, thriftwire.Struct, "\x0c\xfe\xff\x03\xf1\x00\x00", 2, 7, 0},
	{"ids that run over", compact.Apache, thriftwire.Struct, "\x01\xfe\xff\x03\xf1\x00", 2, 4, thriftwire.ErrData},
	{"a list of i64, the second cut", compact.Apache, thriftwire.List, "\x26\x01\x80", 1, 2, thriftwire.ErrEOF},
	{"a list of i16 with a fault", compact.Apache, thriftwire.List, "\x24\x01\xff\xff\x07", 1, 2, thriftwire.ErrData},
	{"a list of doubles", compact.Apache, thriftwire.List, "\x1701234567", 1, 9, 0},
	{"an empty list of structs needs no depth for them", compact.Apache, thriftwire.List, "\x0c", 1, 1, 0},
	{"a map of strings", compact.Apache, thriftwire.Map, "\x01\x88\x01a\x02bc", 1, 7, 0},
	{"a map with a struct for a value, too deep", compact.Apache, thriftwire.Map, "\x01\x3c_\x00", 1, 3, thriftwire.ErrDepth},
	{"no dialect", 0, thriftwire.Struct, "\x15\x01\x00", 1, 0, thriftwire.ErrType},
}

func TestSkipSaysWhereAValueEndsOrBreaks(t *testing.T) {
	edge := guard.New(t, 4096)
	for _, c := range skipCases {
		for _, before := range []string{"", "\x1c\x1c\x1c"} {
			in := edge.Put([]byte(before + c.in))
			end, code := c.d.SkipAt(in, len(before), c.t, c.depth)
			if end != len(before)+c.end || code != c.code {
				t.Errorf("%s: %d (%v), want %d (%v)", c.what, end-len(before), thriftwire.Error(code), c.end, thriftwire.Error(c.code))
			}
		}
		want := c.end
		if c.code < 0 {
			want = c.code
		}
		if n := c.d.Skip(edge.Put([]byte(c.in)), c.t, c.depth); n != want {
			t.Errorf("%s: Skip is %d, want %d", c.what, n, want)
		}
	}
}

func TestSkippingTheRestEndsWhereTheWholeDoes(t *testing.T) {
	d := compact.Apache
	in := []byte("\x11\x05\x40\x02\xfc\x15\x01\x00\x00")
	for at, last := 0, int16(0); ; {
		if end, code := d.SkipFields(in, at, last, 1); end != len(in) || code != 0 {
			t.Errorf("after field %d: %d, %d", last, end, code)
		}
		f, n := d.ConsumeField(in[at:], last)
		if f.Type == thriftwire.Stop {
			break
		}
		at, last = at+n, f.ID
		if f.Type != thriftwire.Bool {
			at, _ = d.SkipAt(in, at, f.Type, 1)
		}
	}
	if end, code := d.SkipFields([]byte("\x11\xf1\xfc"), 1, 32760, 1); end != 1 || code != thriftwire.ErrData {
		t.Errorf("an id that runs over: %d, %d", end, code)
	}
	if end, code := d.SkipElements([]byte("_\x02\x80\x01\x03"), 1, thriftwire.I64, 3, 0); end != 5 || code != 0 {
		t.Errorf("three numbers: %d, %d", end, code)
	}
	if end, code := d.SkipElements(make([]byte, 20), 1, thriftwire.Double, 3, 0); end != 17 || code != thriftwire.ErrEOF {
		t.Errorf("two doubles of three: %d, %d", end, code)
	}
	if end, code := d.SkipElements(nil, 0, thriftwire.Float, 1, 0); end != 0 || code != thriftwire.ErrType {
		t.Errorf("floats in Apache's dialect: %d, %d", end, code)
	}
	if end, code := d.SkipEntries([]byte("_\x02\x01a\x04\x00"), 1, thriftwire.I16, thriftwire.String, 2, 0); end != 6 || code != 0 {
		t.Errorf("two entries: %d, %d", end, code)
	}
	if end, code := d.SkipEntries([]byte("\x02"), 0, thriftwire.I16, thriftwire.Struct, 1, 0); end != 1 || code != thriftwire.ErrDepth {
		t.Errorf("a struct in an entry, too deep: %d, %d", end, code)
	}
	if end, code := compact.FBThrift.SkipEntries(nil, 0, thriftwire.UUID, thriftwire.I8, 1, 0); end != 0 || code != thriftwire.ErrType {
		t.Errorf("uuids in fbthrift's dialect: %d, %d", end, code)
	}
}

func TestSkipFollowsNestingToItsLimitAndNoFurther(t *testing.T) {
	b := []byte(strings.Repeat("\x1c", 1<<20) + "\x00")
	if end, code := compact.Apache.SkipAt(b, 0, thriftwire.Struct, 1<<30); code != thriftwire.ErrDepth || end != 4096 {
		t.Errorf("a million levels: %d, %d", end, code)
	}
}

func TestReadingWritingAndSkippingDoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	text := "some text"
	if n := testing.AllocsPerRun(100, func() {
		d := compact.Apache
		b := d.AppendMessage(buf, thriftwire.Call, "method", 7)
		b = d.AppendField(b, thriftwire.Map, 1, 0)
		b = d.AppendMap(b, thriftwire.String, thriftwire.List, 1)
		b = compact.AppendString(b, text)
		b = d.AppendList(b, thriftwire.Struct, 1)
		b = compact.AppendStop(compact.AppendUUID(d.AppendField(b, thriftwire.UUID, 2, 0), [16]byte{1}))
		b = compact.AppendI64(d.AppendField(b, thriftwire.I64, 2, 1), -1<<63)
		b = compact.AppendStop(compact.AppendBoolField(b, true, 3, 2))
		m, _, n := compact.ConsumeMessage(b)
		if string(m.Name) != "method" {
			t.Error(m)
		}
		if end := d.Skip(b[n:], thriftwire.Struct, 8); end != len(b)-n {
			t.Error(end)
		}
		_, n2 := d.ConsumeField(b[n:], 0)
		_, _, _, n3 := d.ConsumeMap(b[n+n2:])
		if s, _ := compact.ConsumeBytes(b[n+n2+n3:]); string(s) != text {
			t.Error(s)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSkip(f *testing.F) {
	for _, c := range skipCases {
		f.Add([]byte(c.in), byte(c.t), byte(c.d))
	}
	f.Fuzz(func(t *testing.T, b []byte, typ, dialect byte) {
		if len(b) > 1<<16 {
			return
		}
		d := compact.Dialect(dialect)
		in := guard.New(t, len(b)).Put(b)
		end, code := d.SkipAt(in, 0, thriftwire.Type(typ), 16)
		if end < 0 || end > len(b) || code > 0 {
			t.Fatalf("ended at %d with %d", end, code)
		}
		if code < 0 {
			return
		}
		// What was skipped is complete, and no prefix of it is.
		if n := d.Skip(b[:end], thriftwire.Type(typ), 16); n != end {
			t.Fatalf("%d bytes suffice, but alone they are %d", end, n)
		}
		if end > 0 {
			if n := d.Skip(b[:end-1], thriftwire.Type(typ), 16); n != thriftwire.ErrEOF {
				t.Fatalf("one byte less is %d", n)
			}
		}
	})
}

func FuzzConsumeMessage(f *testing.F) {
	f.Add(compact.Apache.AppendMessage(nil, thriftwire.Call, "method", 1))
	f.Add(compact.FBThrift.AppendMessage(nil, thriftwire.Reply, "", -1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		m, d, n := compact.ConsumeMessage(guard.New(t, len(b)).Put(b))
		if n < 0 {
			return
		}
		again := d.AppendMessage(nil, m.Type, string(m.Name), m.SequenceID)
		m2, d2, n2 := compact.ConsumeMessage(again)
		if len(again) > n || n2 != len(again) || d2 != d || m2.Type != m.Type || string(m2.Name) != string(m.Name) || m2.SequenceID != m.SequenceID {
			t.Fatalf("%x was read as %x", b[:n], again)
		}
	})
}
