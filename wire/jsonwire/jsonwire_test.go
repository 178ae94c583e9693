package jsonwire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

func TestStringsAreUnquotedStrictly(t *testing.T) {
	for in, want := range map[string]string{
		`""`:                              "",
		`"plain"`:                         "plain",
		`"longer than one word of eight"`: "longer than one word of eight",
		`"\"\\\/\b\f\n\r\t"`:              "\"\\/\b\f\n\r\t",
		`"\u0041\u00e9\u6f22\u0000"`:      "Aé漢\x00",
		`"\ud83d\ude00 \uD83D\uDE00"`:     "😀 😀",
		`"héé 漢字 😀 and more text"`:        "héé 漢字 😀 and more text",
		"\"\x7f\"":                        "\x7f",
		`"a" trailing`:                    "a",
	} {
		out, n := jsonwire.AppendUnquoted([]byte("kept"), []byte(in))
		if string(out) != "kept"+want || n != strings.LastIndex(in, `"`)+1 {
			t.Errorf("%s gives %q, n %d", in, out, n)
		}
		if m, escaped := jsonwire.SkipString([]byte(in)); m != n || escaped != strings.Contains(in, `\`) {
			t.Errorf("SkipString(%s) = %d, %v", in, m, escaped)
		}
	}
}

func TestInvalidStringsAreRefused(t *testing.T) {
	for in, want := range map[string]int{
		``: jsonwire.ErrEOF, `"`: jsonwire.ErrEOF, `"abc`: jsonwire.ErrEOF, `"abc\`: jsonwire.ErrEOF, `"\u12`: jsonwire.ErrEOF,
		`a`: jsonwire.ErrSyntax, `'a'`: jsonwire.ErrSyntax,
		"\"a\nb\"": jsonwire.ErrControl, "\"a\x00b\"": jsonwire.ErrControl, "\"12345678\x1f\"": jsonwire.ErrControl,
		`"\x"`: jsonwire.ErrEscape, `"\u12g4"`: jsonwire.ErrEscape, `"\U0041"`: jsonwire.ErrEscape, `"\'"`: jsonwire.ErrEscape,
		`"\ud800"`: jsonwire.ErrEscape, `"\ud800\u0041"`: jsonwire.ErrEscape, `"\udc00\ud800"`: jsonwire.ErrEscape, `"\ud800\n"`: jsonwire.ErrEscape,
		"\"\xff\"": jsonwire.ErrUTF8, "\"\xc0\x80\"": jsonwire.ErrUTF8, "\"\xed\xa0\x80\"": jsonwire.ErrUTF8,
		"\"\xf4\x90\x80\x80\"": jsonwire.ErrUTF8, "\"\xc3\\n\"": jsonwire.ErrUTF8, "\"12345678\xe9\"": jsonwire.ErrUTF8,
	} {
		out, n := jsonwire.AppendUnquoted([]byte("kept"), []byte(in))
		if n != want || string(out) != "kept" {
			t.Errorf("AppendUnquoted(%q) = %q, %v; want %v", in, out, jsonwire.Error(n), jsonwire.Error(want))
		}
		if n, _ := jsonwire.SkipString([]byte(in)); n != want {
			t.Errorf("SkipString(%q): %v, want %v", in, jsonwire.Error(n), jsonwire.Error(want))
		}
	}
}

func TestLossyReadersAndWritersPutReplacementCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"\"a\xffb\"":           "a\ufffdb",
		`"\ud800"`:             "\ufffd",
		`"\ud800\u0041"`:       "\ufffdA",
		`"\ud800\ud83d\ude00"`: "\ufffd😀",
		`"\udc00x"`:            "\ufffdx",
	} {
		out, n := jsonwire.AppendUnquotedLossy(nil, []byte(in))
		if string(out) != want || n != len(in) {
			t.Errorf("%q gives %q, n %d", in, out, n)
		}
	}
	if out := jsonwire.AppendQuotedLossy(nil, []byte("a\xff\n")); string(out) != "\"a\ufffd\\n\"" {
		t.Errorf("quoted as %s", out)
	}
	if out, ok := jsonwire.AppendQuoted([]byte("kept"), []byte("\xff")); ok || string(out) != "kept" {
		t.Errorf("the strict writer gives %q, %v", out, ok)
	}
}

// Each byte must end a run of plain text, or not, at each place of a word.
func TestEveryByteIsEscapedAtEveryPlace(t *testing.T) {
	for place := range 20 {
		for c := range 128 {
			text := bytes.Repeat([]byte("x"), 24)
			text[place] = byte(c)
			quoted, ok := jsonwire.AppendQuoted(nil, text)
			var back string
			if err := json.Unmarshal(quoted, &back); !ok || err != nil || back != string(text) {
				t.Fatalf("%q is quoted as %s: %v", text, quoted, err)
			}
			out, n := jsonwire.AppendUnquoted(nil, quoted)
			if !bytes.Equal(out, text) || n != len(quoted) {
				t.Fatalf("%s is unquoted as %q, n %d", quoted, out, n)
			}
		}
	}
}

func TestIntegersAreExact(t *testing.T) {
	for _, x := range []struct {
		in   string
		bits int
		want int64
		n    int
	}{
		{"0", 8, 0, 1}, {"-0", 8, 0, 2}, {"127", 8, 127, 3}, {"-128", 8, -128, 4}, {"128", 8, 0, jsonwire.ErrRange}, {"-129", 8, 0, jsonwire.ErrRange},
		{"300", 8, 0, jsonwire.ErrRange}, {"1.7", 32, 0, jsonwire.ErrInteger}, {"1.0", 32, 1, 3}, {"1e2", 32, 100, 3}, {"1.25E+2", 32, 125, 7},
		{"1200e-2", 32, 12, 7}, {"125e-2", 32, 0, jsonwire.ErrInteger}, {"0.000", 32, 0, 5}, {"0e999999999999999999999", 64, 0, 23},
		{"1e999999999999999999999", 64, 0, jsonwire.ErrRange}, {"1e-999999999999999999999", 64, 0, jsonwire.ErrInteger},
		{"9223372036854775807", 64, math.MaxInt64, 19}, {"9223372036854775808", 64, 0, jsonwire.ErrRange},
		{"-9223372036854775808", 64, math.MinInt64, 20}, {"-9223372036854775809", 64, 0, jsonwire.ErrRange},
		{"18446744073709551617", 64, 0, jsonwire.ErrRange}, {"99999999999999999999999", 64, 0, jsonwire.ErrRange},
		{"9223372036854775807.0", 64, math.MaxInt64, 21}, {"9.223372036854775807e18", 64, math.MaxInt64, 23}, {"10000000000000000000000e-10", 64, 1000000000000, 27},
		{"12]", 32, 12, 2}, {"12 ", 32, 12, 2}, {"12x", 32, 12, 2},
		{"", 32, 0, jsonwire.ErrEOF}, {"-", 32, 0, jsonwire.ErrEOF}, {"-x", 32, 0, jsonwire.ErrNumber}, {"01", 32, 0, jsonwire.ErrNumber},
		{"-01", 32, 0, jsonwire.ErrNumber}, {"1.", 32, 0, jsonwire.ErrEOF}, {"1.x", 32, 0, jsonwire.ErrNumber}, {"1e", 32, 0, jsonwire.ErrEOF},
		{"1e+x", 32, 0, jsonwire.ErrNumber}, {".5", 32, 0, jsonwire.ErrSyntax}, {"+1", 32, 0, jsonwire.ErrSyntax}, {"NaN", 32, 0, jsonwire.ErrSyntax},
	} {
		if got, n := jsonwire.ConsumeInt([]byte(x.in), x.bits); got != x.want || n != x.n {
			t.Errorf("ConsumeInt(%q, %d) = %d, %d; want %d, %d", x.in, x.bits, got, n, x.want, x.n)
		}
	}
}

func TestIntegersAreWrittenAsStrconvWritesThem(t *testing.T) {
	check := func(v int64) {
		for _, v := range []int64{v, -v, ^v} {
			if got, want := string(jsonwire.AppendInt([]byte("x"), v)), "x"+strconv.FormatInt(v, 10); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	}
	for v := range int64(100000) {
		check(v)
		check(v*100000 + v)
	}
	power := int64(1)
	for range 19 {
		check(power - 1)
		check(power)
		check(power + 1)
		power *= 10
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 200000 {
		check(int64(r.Uint64() >> r.IntN(64)))
	}
}

func TestFloatsAreNearestAndInRange(t *testing.T) {
	for _, x := range []struct {
		in   string
		bits int
		want float64
		n    int
	}{
		{"0", 64, 0, 1}, {"0.1", 64, 0.1, 3}, {"-1.5e3", 64, -1500, 6}, {"1e400", 64, 0, jsonwire.ErrRange}, {"-1e400", 64, 0, jsonwire.ErrRange},
		{"1e-400", 64, 0, 6}, {"1.7976931348623157e308", 64, math.MaxFloat64, 22}, {"1.7976931348623159e308", 64, 0, jsonwire.ErrRange},
		{"5e-324", 64, 5e-324, 6}, {"9007199254740993", 64, 9007199254740992, 16}, {"9007199254740993.00000000000000000000000000000001", 64, 9007199254740994, 49},
		{"1e39", 32, 0, jsonwire.ErrRange}, {"3.4028235e38", 32, math.MaxFloat32, 12}, {"0.1", 32, float64(float32(0.1)), 3},
		{"16777217", 32, 16777216, 8}, {"Infinity", 64, 0, jsonwire.ErrSyntax}, {"0x1p4", 64, 0, 1}, {"1_0", 64, 1, 1}, {"-", 64, 0, jsonwire.ErrEOF},
	} {
		if got, n := jsonwire.ConsumeFloat([]byte(x.in), x.bits); got != x.want || n != x.n {
			t.Errorf("ConsumeFloat(%q, %d) = %v, %d; want %v, %d", x.in, x.bits, got, n, x.want, x.n)
		}
	}
}

func TestFloatsReadBackExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200000 {
		v := math.Float64frombits(r.Uint64())
		switch i % 4 {
		case 1:
			v = float64(r.Int64N(1<<54) - 1<<53)
		case 2:
			v = float64(r.Int64N(1e9)) / 1000
		case 3:
			v = math.Trunc(r.NormFloat64() * 1e16)
		}
		if v-v != 0 {
			continue
		}
		text := jsonwire.AppendFloat(nil, v, 64)
		if want, _ := json.Marshal(v); string(text) != string(want) {
			t.Fatalf("%v is written as %s, encoding/json writes %s", v, text, want)
		}
		if back, n := jsonwire.ConsumeFloat(text, 64); math.Float64bits(back) != math.Float64bits(v) || n != len(text) {
			t.Fatalf("%v comes back from %s as %v", v, text, back)
		}
		f := math.Float32frombits(r.Uint32())
		if f-f != 0 {
			continue
		}
		text = jsonwire.AppendFloat(nil, float64(f), 32)
		if want, _ := json.Marshal(f); string(text) != string(want) {
			t.Fatalf("%v is written as %s, encoding/json writes %s", f, text, want)
		}
		if back, n := jsonwire.ConsumeFloat(text, 32); math.Float32bits(float32(back)) != math.Float32bits(f) || n != len(text) {
			t.Fatalf("%v comes back from %s as %v", f, text, back)
		}
	}
}

func TestBase64(t *testing.T) {
	for _, x := range []struct {
		text, want    string
		strict, loose bool
	}{
		{"", "", true, true}, {"/w==", "\xff", true, true}, {"AAEC", "\x00\x01\x02", true, true}, {"AAE=", "\x00\x01", true, true},
		{"AAECAwQFBgcICQ==", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09", true, true},
		{"/w", "\xff", false, true}, {"/w=", "\xff", false, true}, {"_-8", "\xff\xef", false, true}, {"/x==", "\xff", false, true},
		{"/===", "", false, false}, {"A", "", false, false}, {"AAECA", "", false, false}, {"=", "", false, false}, {"====", "", false, false},
		{"AA=A", "", false, false}, {"AAEC\n", "", false, false}, {"AAECAAECAAE*", "", false, false}, {"AAEC*AECAAEC", "", false, false}, {"AA==AA==", "", false, false},
	} {
		for _, loose := range []bool{false, true} {
			out, ok := jsonwire.AppendUnbase64([]byte("kept"), []byte(x.text), loose)
			want, valid := "kept", x.strict
			if loose {
				valid = x.loose
			}
			if valid {
				want += x.want
			}
			if ok != valid || string(out) != want {
				t.Errorf("%q, loose %v: %q, %v", x.text, loose, out, ok)
			}
		}
	}
	r := rand.New(rand.NewPCG(8, 8))
	for n := range 200 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		out, ok := jsonwire.AppendUnbase64([]byte("kept"), []byte(base64.StdEncoding.EncodeToString(b)), n%2 == 0)
		if !ok || string(out) != "kept"+string(b) {
			t.Errorf("%x comes back as %x", b, out)
		}
	}
}

// FuzzBase64 compares the strict reader with encoding/base64, which steps over
// line ends.
func FuzzBase64(f *testing.F) {
	f.Add([]byte("AAECAwQFBgcICQ=="))
	f.Fuzz(func(t *testing.T, b []byte) {
		want, err := base64.StdEncoding.Strict().DecodeString(string(b))
		valid := err == nil && !bytes.ContainsAny(b, "\r\n")
		out, ok := jsonwire.AppendUnbase64(nil, b, false)
		if ok != valid || ok && !bytes.Equal(out, want) {
			t.Fatalf("%q gives %x, %v; want %x, %v", b, out, ok, want, err)
		}
		if loose, looseOK := jsonwire.AppendUnbase64(nil, b, true); ok && (!looseOK || !bytes.Equal(loose, out)) {
			t.Fatalf("%q gives %x if loose", b, loose)
		}
	})
}

// Decimals of every length and exponent, and those exactly between two floats,
// must give what strconv gives.
func TestDecimalsReadAsStrconvReadsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	check := func(text string) {
		want, err := strconv.ParseFloat(text, 64)
		got, n := jsonwire.ConsumeFloat([]byte(text), 64)
		if err != nil && n != jsonwire.ErrRange || err == nil && (n != len(text) || math.Float64bits(got) != math.Float64bits(want)) {
			t.Fatalf("%s reads as %v (%d), strconv gives %v, %v", text, got, n, want, err)
		}
	}
	for i := range 300000 {
		m := r.Uint64() >> r.IntN(64)
		exp := r.IntN(700) - 370
		switch i % 4 {
		case 1: // near the least floats
			exp = -300 - r.IntN(60)
		case 2: // near the greatest
			exp = 280 + r.IntN(30)
		case 3: // exactly between two floats, where the exponent allows it
			m, exp = 1<<53+2*(m>>11)+1, r.IntN(60)-30
		}
		check(fmt.Sprintf("%de%d", m, exp))
		text := strconv.FormatUint(m, 10)
		point := r.IntN(len(text))
		check(fmt.Sprintf("%s.%se%d", "0", text, exp))
		if point > 0 && text[0] != '0' {
			check(fmt.Sprintf("-%s.%s", text[:point], text[point:]))
		}
	}
}

func TestSkipStopsAtTheDepthLimit(t *testing.T) {
	for depth, want := range map[int]int{2: jsonwire.ErrDepth, 3: 6} {
		if n := jsonwire.Skip([]byte("[[[]]]"), depth); n != want {
			t.Errorf("depth %d: %d, want %d", depth, n, want)
		}
	}
	if n := jsonwire.Skip([]byte(strings.Repeat("[", 1<<20)), 1000); n != jsonwire.ErrDepth {
		t.Errorf("a million levels: %v", jsonwire.Error(n))
	}
}

var seeds = []string{
	`null`, `true`, `[1,2.5e-3,"a\u00e9\ud83d\ude00"]`, `{"a":{"b":[]},"c":"\/"}`, `[`, `{"a"`, `"\ud800"`, "\"\xff\"", `01`, `1e`, `[1 2]`, `{"a":1,}`,
	`-0`, `1e400`, `[[[[]]]]`, `{"":null}`, `tru`, `nul `, ` 1`, "\"\x00\"",
}

// FuzzSkip compares Skip with encoding/json, which accepts in addition strings
// that are not Unicode.
func FuzzSkip(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := jsonwire.Skip(b, 1000)
		whole := n >= 0 && jsonwire.SkipSpace(b[n:]) == len(b)-n
		if whole && !json.Valid(b) {
			t.Fatalf("accepted %q, which is not JSON", b)
		}
		if !whole && json.Valid(b) && jsonwire.SkipSpace(b) == 0 && utf8.Valid(b) && !bytes.Contains(b, []byte(`\u`)) && n != jsonwire.ErrDepth {
			t.Fatalf("refused %q: %v", b, jsonwire.Error(n))
		}
	})
}

func FuzzString(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, n := jsonwire.AppendUnquoted(nil, b)
		if m, _ := jsonwire.SkipString(b); m != n {
			t.Fatalf("%q: SkipString %d, AppendUnquoted %d", b, m, n)
		}
		lossy, m := jsonwire.AppendUnquotedLossy(nil, b)
		if n >= 0 {
			var want string
			if err := json.Unmarshal(b[:n], &want); err != nil || want != string(out) || m != n || !bytes.Equal(lossy, out) {
				t.Fatalf("%q gives %q and, lossy, %q; encoding/json %q, %v", b[:n], out, lossy, want, err)
			}
		}
		if m >= 0 && !utf8.Valid(lossy) {
			t.Fatalf("%q gives %q, which is not UTF-8", b, lossy)
		}
		quoted, ok := jsonwire.AppendQuoted(nil, b)
		if ok != utf8.Valid(b) {
			t.Fatalf("%q: quoted %v", b, ok)
		}
		if !ok {
			quoted = jsonwire.AppendQuotedLossy(nil, b)
		}
		back, n := jsonwire.AppendUnquoted(nil, quoted)
		if n != len(quoted) || ok && !bytes.Equal(back, b) {
			t.Fatalf("%q comes back from %s as %q", b, quoted, back)
		}
	})
}

// FuzzNumber compares the readers of numbers with package math/big.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "1e19", "123456789012345678901234567890e-20", "9.99e-5", "1.7976931348623159e308", "4.9e-324", "0.5e1", "-9223372036854775808"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := jsonwire.SkipNumber(b)
		v, vn := jsonwire.ConsumeInt(b, 64)
		d, dn := jsonwire.ConsumeFloat(b, 64)
		if n < 0 {
			if vn != n || dn != n {
				t.Fatalf("%q: SkipNumber %d, ConsumeInt %d, ConsumeFloat %d", b, n, vn, dn)
			}
			return
		}
		want, err := strconv.ParseFloat(string(b[:n]), 64)
		if err == nil && (dn != n || math.Float64bits(d) != math.Float64bits(want)) || err != nil && dn != jsonwire.ErrRange {
			t.Fatalf("%q reads as %v (%d), want %v", b[:n], d, dn, want)
		}
		if e := bytes.IndexAny(b[:n], "eE"); e >= 0 && n-e > 4 || n > 1000 {
			return // big numbers of large exponents take long
		}
		exact, ok := new(big.Rat).SetString(string(b[:n]))
		switch {
		case !ok:
			t.Fatalf("math/big refuses %q", b[:n])
		case !exact.IsInt():
			if vn != jsonwire.ErrInteger {
				t.Fatalf("%q is no integer, got %d (%d)", b[:n], v, vn)
			}
		case !exact.Num().IsInt64():
			if vn != jsonwire.ErrRange {
				t.Fatalf("%q is out of range, got %d (%d)", b[:n], v, vn)
			}
		case vn != n || v != exact.Num().Int64():
			t.Fatalf("%q reads as %d (%d)", b[:n], v, vn)
		}
	})
}

func TestErrorsCompare(t *testing.T) {
	if jsonwire.Error(0) != nil || jsonwire.Error(jsonwire.ErrRange) != jsonwire.Error(jsonwire.ErrRange) {
		t.Error("errors of one number differ, or zero is an error")
	}
	for n := jsonwire.ErrEOF; n >= jsonwire.ErrDepth; n-- {
		if s := jsonwire.Error(n).Error(); strings.Contains(s, "error -") {
			t.Errorf("%d has no text", n)
		}
	}
}

// Every exponent with the mantissas at which the interval of a float changes
// its shape, and every power of ten with its neighbours.
func TestFloatsOfEveryExponentAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	check := func(bits uint64) {
		v := math.Float64frombits(bits)
		want, err := json.Marshal(v)
		if err != nil {
			return // infinite
		}
		if got := jsonwire.AppendFloat(nil, v, 64); string(got) != string(want) {
			t.Fatalf("%x is written as %s, want %s", bits, got, want)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for e := range uint64(2047) {
		for _, m := range []uint64{0, 1, 2, 3, 1<<51 - 1, 1 << 51, 1<<52 - 2, 1<<52 - 1, r.Uint64N(1 << 52), r.Uint64N(1 << 52)} {
			check(e<<52 | m)
		}
	}
	for e := -323; e <= 308; e++ {
		v, _ := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
		for d := uint64(0); d < 4; d++ {
			check(math.Float64bits(v) + d)
			check(math.Float64bits(v) - d)
		}
		for d := 2; d <= 9; d++ {
			check(math.Float64bits(float64(d) * v))
		}
	}
}
