package jsonwire_test

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"testing"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"pgregory.net/rapid"
)

func TestUnsignedIntegersAreExact(t *testing.T) {
	for _, x := range []struct {
		in   string
		bits int
		v    uint64
		n    int
	}{
		{"0", 64, 0, 1}, {"-0", 64, 0, 2}, {"-0e9", 8, 0, 4}, {"0.0", 8, 0, 3}, {"7,", 64, 7, 1},
		{"18446744073709551615", 64, math.MaxUint64, 20},
		{"18446744073709551616", 64, 0, jsonwire.ErrRange},
		{"99999999999999999999", 64, 0, jsonwire.ErrRange},
		{"100000000000000000000", 64, 0, jsonwire.ErrRange},
		{"1844674407370955161500e-2", 64, math.MaxUint64, 25},
		{"1.8446744073709551615e19", 64, math.MaxUint64, 24},
		{"1e19", 64, 1e19, 4}, {"1e20", 64, 0, jsonwire.ErrRange}, {"1e999999999999", 64, 0, jsonwire.ErrRange},
		{"9223372036854775808", 64, 1 << 63, 19},
		{"255", 8, 255, 3}, {"256", 8, 0, jsonwire.ErrRange}, {"65536", 16, 0, jsonwire.ErrRange},
		{"4294967295", 32, math.MaxUint32, 10}, {"4294967296", 32, 0, jsonwire.ErrRange},
		{"-1", 64, 0, jsonwire.ErrRange}, {"1.5", 64, 0, jsonwire.ErrInteger}, {"01", 64, 0, jsonwire.ErrNumber},
		{"", 64, 0, jsonwire.ErrEOF}, {"-", 64, 0, jsonwire.ErrEOF}, {"a", 64, 0, jsonwire.ErrSyntax}, {"1.", 64, 0, jsonwire.ErrEOF},
	} {
		if v, n := jsonwire.ConsumeUint([]byte(x.in), x.bits); v != x.v || n != x.n {
			t.Errorf("%s in %d bits is %d, %d, want %d, %d", x.in, x.bits, v, n, x.v, x.n)
		}
	}
}

func TestUnsignedIntegersComeBackAsStrconvWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "bits") >> rapid.IntRange(0, 63).Draw(t, "shift")
		out := jsonwire.AppendUint([]byte("x"), v)
		if want := "x" + strconv.FormatUint(v, 10); string(out) != want {
			t.Fatalf("%d is written as %s", v, out)
		}
		if back, n := jsonwire.ConsumeUint(out[1:], 64); back != v || n != len(out)-1 {
			t.Fatalf("%s is read as %d, %d", out[1:], back, n)
		}
	})
}

func FuzzConsumeUint(f *testing.F) {
	for _, s := range []string{"18446744073709551616", "1.5e1", "-0", "120e-1"} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, size byte) {
		width := 8 << (size & 3)
		v, n := jsonwire.ConsumeUint(b, width)
		end := jsonwire.SkipNumber(b)
		if end < 0 {
			if n != end {
				t.Fatalf("%q: %d, as a number %d", b, n, end)
			}
			return
		}
		if e := bytes.IndexAny(b[:end], "eE"); end > 100 || e >= 0 && end-e > 5 {
			return // more than big should be asked for
		}
		want, ok := new(big.Rat).SetString(string(b[:end]))
		if !ok {
			t.Fatalf("%q is no number", b[:end])
		}
		switch {
		case !want.IsInt():
			if n != jsonwire.ErrInteger {
				t.Fatalf("%q: %d, %d", b, v, n)
			}
		case want.Sign() < 0 || want.Num().BitLen() > width:
			if n != jsonwire.ErrRange {
				t.Fatalf("%q: %d, %d", b, v, n)
			}
		case n != end || want.Num().Uint64() != v:
			t.Fatalf("%q: %d, %d, want %s", b, v, n, want)
		}
	})
}
