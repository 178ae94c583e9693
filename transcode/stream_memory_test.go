package transcode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file converts inputs that nobody should hold in memory.

// repeated is a reader of before, n times unit, and after.
func repeated(before, unit string, n int, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), &cycle{unit: strings.Repeat(unit, 1+4096/len(unit)), left: n * len(unit)}, strings.NewReader(after))
}

// cycle reads unit over and over, left bytes in all.
type cycle struct {
	unit string
	at   int
	left int
}

func (c *cycle) Read(b []byte) (n int, err error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	for n < len(b) && c.left > 0 {
		k := copy(b[n:min(len(b), n+c.left)], c.unit[c.at:])
		n, c.left, c.at = n+k, c.left-k, (c.at+k)%len(c.unit)
	}
	return n, nil
}

// nowhere takes everything at every place.
type nowhere struct{ end int64 }

func (w *nowhere) Write(b []byte) (int, error) { w.end += int64(len(b)); return len(b), nil }
func (w *nowhere) WriteAt(b []byte, at int64) (int, error) {
	w.end = max(w.end, at+int64(len(b)))
	return len(b), nil
}

// heapBound is how much of the heap a stream may take, far above what it needs
// and far below the inputs here.
const heapBound = 16 << 20

// watch returns an option that fails the test when the heap grows.
func watch(t *testing.T) transcode.StreamOption {
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start, next := held(), int64(0)
	return transcode.StreamProgress(func(s transcode.Stats) {
		if s.Read < next {
			return
		}
		next = s.Read + 24<<20
		if now := held(); now > start+heapBound {
			t.Fatalf("after %d bytes the heap has grown by %d", s.Read, now-start)
		}
	})
}

func line() *schema.StructDef {
	return structOf("Line", field(1, "id", tI64), field(2, "text", tString))
}

// pile is a struct that can be of any size.
func pile() *schema.StructDef {
	return structOf("Pile", field(1, "lines", schema.ListOf(line().Type())), field(2, "text", tString), field(3, "data", tBinary),
		field(4, "byID", schema.MapOf(tI64, line().Type())))
}

func be32(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func TestStreamsOfAnyLengthTakeLittleMemory(t *testing.T) {
	size := 128 << 20
	if testing.Short() {
		size = 24 << 20
	}
	const jsonLine = `{"id":123456,"text":"The quick brown fox \u00e9"},` + "\n"
	jsonUnit := strings.TrimRight(jsonLine, ",\n") + "\n"
	wire := "\x0a\x00\x01\x00\x00\x00\x00\x00\x01\xe2\x40\x0b\x00\x02\x00\x00\x00\x15The quick brown fox!!\x00"
	n := size / len(wire)
	lines, piles := converter(t, line()), converter(t, pile(), transcode.AllowDuplicates())
	toJSON := func(c *transcode.Converter, r io.Reader, opts ...transcode.StreamOption) (transcode.Stats, error) {
		return c.CopyJSON(context.Background(), new(nowhere), r, append(opts, watch(t))...)
	}
	toThrift := func(c *transcode.Converter, r io.Reader, opts ...transcode.StreamOption) (transcode.Stats, error) {
		return c.CopyThrift(context.Background(), new(nowhere), r, append(opts, watch(t))...)
	}
	toFile := func(c *transcode.Converter, r io.Reader, opts ...transcode.StreamOption) (transcode.Stats, error) {
		return c.CopyThriftAt(context.Background(), new(nowhere), r, append(opts, watch(t))...)
	}
	type convert = func(*transcode.Converter, io.Reader, ...transcode.StreamOption) (transcode.Stats, error)
	for _, c := range []struct {
		name    string
		conv    *transcode.Converter
		convert convert
		in      io.Reader
		values  int
		opts    []transcode.StreamOption
	}{
		{"structs", lines, toJSON, repeated("", wire, n, ""), n, nil},
		{"structs in frames", lines, toJSON, repeated("", be32(len(wire))+wire, n, ""), n, []transcode.StreamOption{transcode.StreamFramed()}},
		{"a list", piles, toJSON, repeated("\x0f\x00\x01\x0c"+be32(n), wire, n, "\x00"), 1, nil},
		{"a map", piles, toJSON, repeated("\x0d\x00\x04\x0a\x0c"+be32(n), "\x00\x00\x00\x00\x00\x00\x00\x07"+wire, n, "\x00"), 1, nil},
		{"a string", piles, toJSON, repeated("\x0b\x00\x02"+be32(size), "gr\xc3\xbc\xc3\x9fe!", size/8, "\x00"), 1, nil},
		{"a binary", piles, toJSON, repeated("\x0b\x00\x03"+be32(size), "abcdefg\xff", size/8, "\x00"), 1, nil},
		{"an unknown list", lines, toJSON, repeated("\x0f\x00\x09\x0c"+be32(n), wire, n, "\x00"), 1, nil},
		{"an unknown string", lines, toJSON, repeated("\x0b\x00\x09"+be32(size), "abcdefg\xff", size/8, "\x00"), 1, nil},
		{"lines", lines, toThrift, repeated("", jsonUnit, n, ""), n, nil},
		{"lines to frames", lines, toThrift, repeated("", jsonUnit, n, ""), n, []transcode.StreamOption{transcode.StreamFramed()}},
		{"an array", lines, toThrift, repeated("[", jsonLine, n-1, jsonUnit+"]"), n, nil},
		{"a list to a file", piles, toFile, repeated(`{"lines":[`, jsonLine, n-1, jsonUnit+"]}"), 1, nil},
		{"a map to a file", piles, toFile, repeated(`{"byID":{`, `"7":`+jsonLine, n-1, `"8":`+jsonUnit+"}}"), 1, nil},
		{"a string to a file", piles, toFile, repeated(`{"text":"`, `gr\u00fc\u00dfe!`, size/16, `"}`), 1, nil},
		{"a binary to a file", piles, toFile, repeated(`{"data":"`, `AAEC/v8b`, size/8, `"}`), 1, nil},
		{"an unknown list to a file", lines, toFile, repeated(`{"nothing":[`, jsonLine, n-1, jsonUnit+"]}"), 1, nil},
		{"white space", lines, toThrift, repeated("", " \n", size/2, jsonUnit), 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			stats, err := c.convert(c.conv, c.in, c.opts...)
			if err != nil || stats.Values != int64(c.values) || stats.Read < int64(size/2) {
				t.Errorf("%+v, %v", stats, err)
			}
		})
	}
}

func TestAStructThatAPlainWriterCannotTakeInPartsIsBounded(t *testing.T) {
	c := converter(t, pile(), transcode.MaxSize(1<<20))
	in := func() io.Reader { return repeated(`{"lines":[`, `{"id":1},`, 1<<20, `{"id":2}]}`) }
	var out nowhere
	stats, err := c.CopyThrift(context.Background(), &out, in(), watch(t))
	if diag.CodeOf(err) != diag.SizeLimit || out.end != 0 || stats.Written != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := c.CopyThriftAt(context.Background(), &out, in()); err != nil || out.end != 8+(1<<20+1)*12+1 {
		t.Errorf("%d bytes, %v", out.end, err)
	}
}

func TestManyDefaultsOfAFewBytesAreNotHeldAtOnce(t *testing.T) {
	text := strings.Repeat("x", 4000)
	inner := structOf("Inner", schema.NewField(schema.FieldSpec{ID: 1, Name: "s", Type: tString,
		Requiredness: schema.Optional, Default: &schema.Value{String: text}}))
	def := structOf("Outer", field(1, "list", schema.ListOf(inner.Type())))
	c := converter(t, def, transcode.WriteDefaults())
	const n = 50000
	thrift := "\x0f\x00\x01\x0c" + be32(n) + strings.Repeat("\x00", n) + "\x00"
	json := `{"list":[` + strings.Repeat("{},", n-1) + "{}]}"
	for _, x := range []struct {
		name    string
		convert func(w *nowhere) error
		want    int
	}{
		{"to JSON", func(w *nowhere) error {
			_, err := c.CopyJSON(context.Background(), w, strings.NewReader(thrift))
			return err
		}, len(`{"list":[]}`) + n*len(`{"s":"",}`+text)},
		{"to Thrift", func(w *nowhere) error {
			_, err := c.CopyThriftAt(context.Background(), w, strings.NewReader(json))
			return err
		}, 8 + n*(8+len(text)) + 1},
	} {
		var out nowhere
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := x.convert(&out)
		runtime.ReadMemStats(&after)
		if err != nil || out.end != int64(x.want) {
			t.Errorf("%s: %d bytes instead of %d, %v", x.name, out.end, x.want, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 3*heapBound {
			t.Errorf("%s: %d bytes were allocated for %d of output", x.name, took, out.end)
		}
	}
	streamsToJSON(t, c, []byte("\x0f\x00\x01\x0c"+be32(150)+strings.Repeat("\x00", 150)+"\x00\x00"))
	streamsToThrift(t, c, []byte(`{"list":[`+strings.Repeat("{},", 150)+`{"s":"y"},{}]} {}`))
	streamsToThrift(t, c, []byte(`{"list":[`+strings.Repeat("{},", 150)+`{"s":1},{}]} {}`))
}

func TestKeysThatStandTwiceAreFoundInLongMapsUpToALimit(t *testing.T) {
	entries := func(n int, key func(i int) int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.Repeat("0", 3) + string(rune('a'+key(i)%26)) + be64(key(i)) + `":{}`)
		}
		return `{"byText":{` + b.String() + `}}`
	}
	def := structOf("Map", field(1, "byText", schema.MapOf(tString, structOf("Empty").Type())))
	all := func(i int) int { return i }
	again := func(i int) int { return i % 4000 }
	c := converter(t, def, transcode.MaxSize(1<<20))
	for _, x := range []struct {
		name string
		json string
		want diag.Code
		opts []transcode.Option
	}{
		{"all different", entries(5000, all), 0, nil},
		{"one twice", entries(4001, again), diag.DuplicateKey, nil},
		{"too many to tell", entries(17000, all), diag.SizeLimit, nil},
		{"nobody asks", entries(17000, again), 0, []transcode.Option{transcode.AllowDuplicates()}},
	} {
		c := c
		if x.opts != nil {
			c = converter(t, def, append(x.opts, transcode.MaxSize(1<<20))...)
		}
		var file memory
		_, err := c.CopyThriftAt(context.Background(), &file, strings.NewReader(x.json), transcode.StreamWindow(1000))
		if diag.CodeOf(err) != x.want {
			t.Errorf("%s: %v", x.name, err)
		}
		_, inMemory := converter(t, def, x.opts...).AppendThrift(nil, []byte(x.json))
		if x.want == diag.DuplicateKey && err.(*diag.Fault).Offset != inMemory.(*diag.Fault).Offset {
			t.Errorf("%s: %v, in memory %v", x.name, err, inMemory)
		}
	}
}

// be64 renders n as eight letters.
func be64(n int) string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = 'a' + byte(n>>(4*i)&15)
	}
	return string(b)
}

func TestStreamsEndWithTheErrorsOfTheirEnds(t *testing.T) {
	c := converter(t, line())
	broken := errors.New("the line is cut")
	in := io.MultiReader(strings.NewReader(`{"id":1} {"id":`), &failing{broken})
	var out bytes.Buffer
	stats, err := c.CopyThrift(context.Background(), &out, in)
	if err != broken || stats.Values != 1 || out.Len() != 12 {
		t.Errorf("a reader: %+v, %v, %x", stats, err, out.Bytes())
	}
	if _, err := c.CopyThrift(context.Background(), &failing{broken}, strings.NewReader(`{"id":1}`)); err != broken {
		t.Errorf("a writer: %v", err)
	}
	if _, err := c.CopyThriftAt(context.Background(), &failing{broken}, strings.NewReader(`{"id":1}`)); err != broken {
		t.Errorf("a file: %v", err)
	}
	if _, err := c.CopyThrift(context.Background(), &out, &failing{nil}); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = c.CopyThrift(ctx, &out, repeated("", `{"id":1}`, 1<<20, ""), transcode.StreamProgress(func(s transcode.Stats) {
		if s.Read > 1<<20 {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error)           { return 0, f.err }
func (f *failing) Write([]byte) (int, error)          { return 0, f.err }
func (f *failing) WriteAt([]byte, int64) (int, error) { return 0, f.err }

func TestFramesAndArraysOfStreams(t *testing.T) {
	c := converter(t, line())
	frame := func(b ...byte) []byte { return append(thriftwire.AppendI32(nil, int32(len(b))), b...) }
	one := frame(0x0a, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0)
	toJSON := func(in []byte, opts ...transcode.StreamOption) (string, error) {
		var out bytes.Buffer
		_, err := c.CopyJSON(context.Background(), &out, bytes.NewReader(in), append(opts, transcode.StreamFramed())...)
		return out.String(), err
	}
	if got, err := toJSON(append(bytes.Clone(one), one...)); got != "{\"id\":1}\n{\"id\":1}\n" || err != nil {
		t.Errorf("lines: %q, %v", got, err)
	}
	if got, err := toJSON(append(bytes.Clone(one), one...), transcode.StreamArray()); got != "[{\"id\":1},\n{\"id\":1}]\n" || err != nil {
		t.Errorf("an array: %q, %v", got, err)
	}
	if got, err := toJSON(nil, transcode.StreamArray()); got != "[]\n" || err != nil {
		t.Errorf("an empty array: %q, %v", got, err)
	}
	for _, x := range []struct {
		in     []byte
		code   diag.Code
		offset int
		path   string
	}{
		{append(bytes.Clone(one), 0, 0), diag.UnexpectedEOF, 16, "[1]"},
		{append(bytes.Clone(one), 0, 0, 0, 0), diag.InvalidLength, 16, "[1]"},
		{append(bytes.Clone(one), 0xff, 0, 0, 0), diag.InvalidLength, 16, "[1]"},
		{frame(0, 7, 7), diag.TrailingData, 5, "[0]"},
		{append(bytes.Clone(one), frame(0x0a, 0, 1, 0)...), diag.UnexpectedEOF, 23, "[1].id"},
		{one[:9], diag.UnexpectedEOF, 7, "[0].id"},
	} {
		_, err := toJSON(x.in)
		checkFault(t, hexOf(x.in), err, x.code, x.offset, x.path)
	}
	for in, want := range map[string]string{
		"": "", " \n": "", "[]": "", "{}{}": "0000000100" + "0000000100", " [ {} , {} ] [] {} ": strings.Repeat("0000000100", 3),
	} {
		var out bytes.Buffer
		if _, err := c.CopyThrift(context.Background(), &out, strings.NewReader(in), transcode.StreamFramed()); err != nil || hexOf(out.Bytes()) != want {
			t.Errorf("%q: %x, %v", in, out.Bytes(), err)
		}
	}
	for in, offset := range map[string]int{"[{}": 3, "[{},]": 4, "[{} {}]": 4, "{},{}": 2, "[[]]": 1, "[{}] x": 5, "x": 0} {
		_, err := c.CopyThrift(context.Background(), new(bytes.Buffer), strings.NewReader(in))
		if f := (*diag.Fault)(nil); !errors.As(err, &f) || f.Offset != offset {
			t.Errorf("%q: %v, want offset %d", in, err, offset)
		}
	}
}
