package transcode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds streams against the conversions of values in memory: the
// same bytes, the same faults, however the input arrives and however small the
// window is.

// memory is a WriterAt that grows.
type memory struct{ b []byte }

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	if end := int(at) + len(b); end > len(m.b) {
		m.b = append(m.b, make([]byte, end-len(m.b))...)
	}
	return copy(m.b[at:], b), nil
}

// arrivals are ways in which an input may arrive.
var arrivals = []struct {
	name   string
	window int
	reader func(io.Reader) io.Reader
}{
	{"at once", 1 << 14, func(r io.Reader) io.Reader { return r }},
	{"through a small window", 1, func(r io.Reader) io.Reader { return r }},
	{"in halves", 128, iotest.HalfReader},
	{"byte by byte", 1, iotest.OneByteReader},
	{"with the error beside the last bytes", 200, iotest.DataErrReader},
}

// jsonOf converts the structs of thrift one by one, in memory.
func jsonOf(c *transcode.Converter, thrift []byte) (out []byte, err error) {
	for i, at := 0, 0; at < len(thrift); i++ {
		var n int
		if out, n, err = c.AppendJSON(out, thrift[at:]); err != nil {
			return out, shifted(err, i, at)
		}
		out = append(out, '\n')
		at += n
	}
	return out, nil
}

// thriftOf converts the values of json one by one, in memory.
func thriftOf(c *transcode.Converter, json []byte) (out []byte, err error) {
	for i, at := 0, 0; jsonwire.SkipSpace(json[at:]) < len(json)-at; i++ {
		end := len(json)
		one, err := c.AppendThrift(out, json[at:])
		if f := (*diag.Fault)(nil); errors.As(err, &f) && f.Code == diag.TrailingData {
			end = at + f.Offset
			one, err = c.AppendThrift(out, json[at:end])
		}
		if err != nil {
			return out, shifted(err, i, at)
		}
		out, at = one, end
	}
	return out, nil
}

// shifted makes err, a fault of value i, which starts at at, that of a stream.
func shifted(err error, i, at int) error {
	f := err.(*diag.Fault).Index(i)
	f.Offset += at
	return f
}

// sameEnd compares the error of a stream with that of the conversion in memory.
// Where the input ends too early, memory may say so sooner.
func sameEnd(t *testing.T, what string, got, want error) {
	t.Helper()
	if got == nil && want == nil {
		return
	}
	var g, w *diag.Fault
	if !errors.As(got, &g) || !errors.As(want, &w) {
		t.Fatalf("%s: %v, in memory %v", what, got, want)
	}
	if w.Code == diag.UnexpectedEOF && g.Offset >= w.Offset {
		return
	}
	if g.Code != w.Code || g.Offset != w.Offset || g.Path() != w.Path() {
		t.Fatalf("%s:\n%v, in memory\n%v", what, got, want)
	}
}

// streamsToJSON holds CopyJSON to AppendJSON.
func streamsToJSON(t *testing.T, c *transcode.Converter, thrift []byte) {
	t.Helper()
	want, wantErr := jsonOf(c, thrift)
	for _, a := range arrivals {
		var out bytes.Buffer
		stats, err := c.CopyJSON(context.Background(), &out, a.reader(bytes.NewReader(thrift)), transcode.StreamWindow(a.window))
		what := fmt.Sprintf("%x %s", thrift, a.name)
		sameEnd(t, what, err, wantErr)
		if stats.Written != int64(out.Len()) || !bytes.HasPrefix(out.Bytes(), want) || err == nil && (out.Len() != len(want) || stats.Read != int64(len(thrift))) {
			t.Fatalf("%s: became\n%s, in memory\n%s (%+v, %v)", what, out.Bytes(), want, stats, err)
		}
	}
}

// streamsToThrift holds CopyThrift and CopyThriftAt to AppendThrift.
func streamsToThrift(t *testing.T, c *transcode.Converter, json []byte) {
	t.Helper()
	if bytes.HasPrefix(json[jsonwire.SkipSpace(json):], []byte("[")) || bytes.Contains(json, []byte("}[")) {
		return // sequences of arrays, which memory does not know
	}
	want, wantErr := thriftOf(c, json)
	for _, a := range arrivals {
		var out bytes.Buffer
		what := fmt.Sprintf("%s %s", json, a.name)
		stats, err := c.CopyThrift(context.Background(), &out, a.reader(bytes.NewReader(json)), transcode.StreamWindow(a.window))
		sameEnd(t, what, err, wantErr)
		if !bytes.Equal(out.Bytes(), want) || stats.Written != int64(len(want)) || err == nil && stats.Read != int64(len(json)) {
			t.Fatalf("%s: became\n%x, in memory\n%x (%+v, %v)", what, out.Bytes(), want, stats, err)
		}
		var file memory
		_, err = c.CopyThriftAt(context.Background(), &file, a.reader(bytes.NewReader(json)), transcode.StreamWindow(a.window))
		sameEnd(t, what, err, wantErr)
		if err == nil && !bytes.Equal(file.b, want) {
			t.Fatalf("%s: became\n%x, in memory\n%x", what, file.b, want)
		}
	}
}

func TestStreamsSayWhatConversionsInMemorySay(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, s := range subjects(t, 40) {
		n := 10
		if i == 0 {
			n = 300
		}
		streamsToJSON(t, s.c, s.thrift)
		streamsToThrift(t, s.c, s.json)
		streamsToJSON(t, s.c, bytes.Repeat(s.thrift, 3))
		streamsToThrift(t, s.c, bytes.Repeat(append(s.json, '\n'), 3))
		for range n {
			streamsToJSON(t, s.c, mutate(r, s.thrift))
			streamsToThrift(t, s.c, mutate(r, s.json))
		}
	}
}

// TestStreamsOfLongValuesSayTheSame has strings and containers that exceed
// every small window.
func TestStreamsOfLongValuesSayTheSame(t *testing.T) {
	text := strings.Repeat(`ab\u00e9ü\ud83d\ude00\n\\\"😀/`, 40)
	data := strings.Repeat("AAEC/v8b", 60)
	value := `{"unknown":[{"deep":["` + text + `",12345,true,{"a":null}]}],"string":"` + text + `","binary":"` + data + `QQ==",` +
		`"set":["` + text + `","b"],"list":[` + strings.Repeat("123456789,", 100) + `1],"byString":{"` + text + `":1,"b":2},` +
		`"byStruct":[[{"x":1},"` + text + `"],[{"x":2},"b"]]}`
	for _, opts := range [][]transcode.Option{
		nil, {transcode.LossyText(), transcode.LooseBase64()}, {transcode.RawBinary()}, {transcode.AllowDuplicates()}, {transcode.WriteZeros()},
		{transcode.MaxDepth(3)}, {transcode.RejectUnknown()}, {transcode.StrictTypes()},
	} {
		c := converter(t, all(), opts...)
		streamsToThrift(t, c, []byte(value))
		thrift, err := c.AppendThrift(nil, []byte(value))
		if err == nil {
			streamsToJSON(t, c, thrift)
			streamsToJSON(t, converter(t, structOf("Other")), thrift) // everything is unknown
		}
		r := rand.New(rand.NewPCG(8, 8))
		for range 40 {
			streamsToThrift(t, c, mutate(r, []byte(value)))
			streamsToJSON(t, c, mutate(r, thrift))
			streamsToJSON(t, converter(t, structOf("Other")), mutate(r, thrift))
		}
	}
}

func TestStringsAreCutWhereTheyCanBeReadAlone(t *testing.T) {
	c := converter(t, holding(tString), transcode.LossyText())
	strict := converter(t, holding(tString))
	pieces := []string{`\ud83d`, `\ude00`, `\u00e9`, `\n`, `\`, `u`, `😀`, "\xf0\x9f", "\xc3", `x`, `12`, `\q`}
	r := rand.New(rand.NewPCG(9, 9))
	for range 500 {
		text := `{"v":"`
		for range r.IntN(60) {
			text += pieces[r.IntN(len(pieces))]
		}
		text += `"}`
		streamsToThrift(t, c, []byte(text))
		streamsToThrift(t, strict, []byte(text))
		streamsToJSON(t, c, thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 1), text)))
	}
}

func FuzzStreams(f *testing.F) {
	list := subjects(f, 7)
	for i, s := range list {
		f.Add(uint8(i), s.thrift, s.json)
	}
	f.Fuzz(func(t *testing.T, which uint8, thrift, json []byte) {
		c := list[int(which)%len(list)].c
		streamsToJSON(t, c, thrift)
		streamsToThrift(t, c, json)
	})
}
