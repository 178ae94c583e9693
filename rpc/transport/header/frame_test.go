package header_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"pgregory.net/rapid"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// seal writes a frame around a payload.
func seal(t testing.TB, x *header.Transformer, o header.Outgoing, payload []byte) []byte {
	t.Helper()
	b, err := o.Append([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	start := len("before")
	b, err = x.Seal(append(b, payload...), start, len(b), o.Transform)
	if err != nil {
		t.Fatal(err)
	}
	return b[start:]
}

func pairs(p header.Pairs) string {
	var s []string
	for k, v := range p.All() {
		s = append(s, fmt.Sprintf("%s=%s", k, v))
	}
	return strings.Join(s, " ")
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var x header.Transformer
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringN(0, 40, 200)
		list := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) header.Pair {
			return header.Pair{Key: text.Draw(r, "key"), Value: text.Draw(r, "value")}
		}), 0, 5)
		o := header.Outgoing{
			Flags: rapid.Uint16().Draw(r, "flags"), SequenceID: rapid.Uint32().Draw(r, "sequence"),
			Protocol:  header.Protocol(rapid.Uint32().Draw(r, "protocol")),
			Transform: rapid.SampledFrom([]header.Transform{header.None, header.Zlib, header.Zstd}).Draw(r, "transform"),
			Headers:   list.Draw(r, "headers"), Persistent: list.Draw(r, "persistent"),
		}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(r, "payload")
		b := seal(t, &x, o, payload)
		if n := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]); n != len(b)-4 {
			r.Fatalf("length %d of %d", n, len(b)-4)
		}
		var f header.Frame
		if err := f.Parse(b[4:]); err != nil {
			r.Fatal(err)
		}
		if f.Flags != o.Flags || f.SequenceID != o.SequenceID || f.Protocol != o.Protocol {
			r.Fatalf("%+v became %+v", o, f)
		}
		var want []string
		for _, p := range o.Headers {
			want = append(want, p.Key+"="+p.Value)
		}
		if got := pairs(f.Headers); got != strings.Join(want, " ") || f.Headers.Len() != len(o.Headers) {
			r.Fatalf("headers %q, want %q", got, want)
		}
		if f.Persistent.Len() != len(o.Persistent) {
			r.Fatalf("%d persistent headers of %d", f.Persistent.Len(), len(o.Persistent))
		}
		got, err := x.Undo([]byte("x"), &f, len(payload))
		if err != nil || string(got) != "x"+string(payload) {
			r.Fatalf("%d bytes of %d, %v", len(got)-1, len(payload), err)
		}
		if len(payload) > 0 {
			var fault *diag.Fault
			if got, err := x.Undo(nil, &f, len(payload)-1); !errors.As(err, &fault) || fault.Code != diag.SizeLimit || got != nil {
				r.Fatalf("beyond the limit: %v", err)
			}
		}
	})
}

// apacheFrame lets Apache's library write a frame.
func apacheFrame(t *testing.T, payload []byte, headers map[string]string, transforms ...thrift.THeaderTransformID) []byte {
	t.Helper()
	mem := thrift.NewTMemoryBuffer()
	h := thrift.NewTHeaderTransportConf(mem, &thrift.TConfiguration{})
	for k, v := range headers {
		h.SetWriteHeader(k, v)
	}
	for _, x := range transforms {
		if err := h.AddTransform(x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Write(payload); err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return mem.Bytes()
}

// message is the start of a binary message, which Apache's library looks at.
var message = []byte("\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00")

func TestFramesOfApachesLibraryAreRead(t *testing.T) {
	var x header.Transformer
	for _, transforms := range [][]thrift.THeaderTransformID{nil, {thrift.TransformZlib}} {
		for n := range 6 { // all paddings
			headers := map[string]string{"k": strings.Repeat("v", n)}
			b := apacheFrame(t, message, headers, transforms...)
			var f header.Frame
			if err := f.Parse(b[4:]); err != nil {
				t.Fatal(err)
			}
			if v, ok := f.Headers.Get("k"); !ok || len(v) != n || f.Protocol != header.Binary {
				t.Errorf("header %q, protocol %v", v, f.Protocol)
			}
			if got, err := x.Undo(nil, &f, 1000); err != nil || !bytes.Equal(got, message) {
				t.Errorf("%v: % x, %v", transforms, got, err)
			}
		}
	}
}

func TestApachesLibraryReadsOurFrames(t *testing.T) {
	var x header.Transformer
	for _, transform := range []header.Transform{header.None, header.Zlib} {
		for n := range 6 {
			mem := thrift.NewTMemoryBuffer()
			mem.Write(seal(t, &x, header.Outgoing{
				SequenceID: 7, Transform: transform,
				Headers:    []header.Pair{{Key: "k", Value: strings.Repeat("v", n)}},
				Persistent: []header.Pair{{Key: "p", Value: "q"}},
			}, message))
			h := thrift.NewTHeaderTransportConf(mem, &thrift.TConfiguration{})
			if err := h.ReadFrame(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(message))
			if _, err := h.Read(got); err != nil || !bytes.Equal(got, message) {
				t.Errorf("%v: % x, %v", transform, got, err)
			}
			if v := h.GetReadHeaders()["k"]; len(v) != n {
				t.Errorf("header %q", v)
			}
		}
	}
}

// A frame as fbthrift writes it: persistent headers, an unknown block, and a
// word of padding where none is needed.
func TestHabitsOfFBThriftAreRead(t *testing.T) {
	b := []byte("\x0f\xff\x00\x01\x00\x00\x00\x2a\x00\x05" +
		"\x02\x00" + "\x02\x01\x01a\x03one" + "\x01\x01\x01b\x01c" + "\x00\x00\x00\x00" + "payload")
	var f header.Frame
	if err := f.Parse(b); err != nil {
		t.Fatal(err)
	}
	if f.Protocol != header.Compact || f.Flags != header.OutOfOrder || f.SequenceID != 42 || string(f.Payload) != "payload" {
		t.Errorf("%+v", f)
	}
	if pairs(f.Persistent) != "a=one" || pairs(f.Headers) != "b=c" {
		t.Errorf("headers %q and %q", pairs(f.Headers), pairs(f.Persistent))
	}
	unknown := []byte("\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x03" + "\x00\x00" + "\x01\x01\x01b\x01c" + "\x09zzz" + "payload")
	if err := f.Parse(unknown); err != nil || pairs(f.Headers) != "b=c" || string(f.Payload) != "payload" {
		t.Errorf("behind an unknown block: %v, %+v", err, f)
	}
}

func TestDamagedFramesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		frame  string
		code   diag.Code
		offset int
	}{
		"too short":               {"\x0f\xff\x00", diag.UnexpectedEOF, 3},
		"another magic":           {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", diag.InvalidHeader, 0},
		"a header behind the end": {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00", diag.UnexpectedEOF, 8},
		"a number without end":    {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x80\x80\x80\x80", diag.UnexpectedEOF, 10},
		"a number of 35 bits":     {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x02\xff\xff\xff\xff\x7f\x00\x00\x00", diag.InvalidHeader, 10},
		"three transforms":        {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x03\x01\x01\x01\x00\x00\x00", diag.InvalidLength, 12},
		"a key behind the end":    {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x01\x09abc", diag.UnexpectedEOF, 15},
		"four billion pairs":      {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\xff\xff\xff\xff\x0f", diag.UnexpectedEOF, 18},
	} {
		var f header.Frame
		var fault *diag.Fault
		if err := f.Parse([]byte(c.frame)); !errors.As(err, &fault) || fault.Code != c.code || fault.Offset != c.offset {
			t.Errorf("%s: %v, want %v at %d", name, err, c.code, c.offset)
		}
	}
}

func TestWhatCannotBeUndoneSaysSo(t *testing.T) {
	var x header.Transformer
	for _, transform := range []header.Transform{header.HMAC, header.Snappy, header.QLZ, header.LZ4, 99} {
		f := header.Frame{Transforms: []header.Transform{transform}, Payload: []byte("x")}
		var fault *diag.Fault
		if _, err := x.Undo(nil, &f, 100); !errors.As(err, &fault) || fault.Code != diag.Unsupported || transform.Supported() {
			t.Errorf("%v: %v", transform, err)
		}
		if _, err := x.Seal([]byte("0000x"), 0, 4, transform); err == nil {
			t.Errorf("%v is done", transform)
		}
	}
	for _, transform := range []header.Transform{header.Zlib, header.Zstd} {
		for _, payload := range []string{"", "x", "not compressed at all"} {
			f := header.Frame{Transforms: []header.Transform{transform}, Payload: []byte(payload)}
			var fault *diag.Fault
			if _, err := x.Undo(nil, &f, 100); !errors.As(err, &fault) || fault.Code != diag.InvalidData {
				// An empty zstd stream is no frames, and so nothing.
				if !(transform == header.Zstd && payload == "" && err == nil) {
					t.Errorf("%v of %q: %v", transform, payload, err)
				}
			}
		}
	}
	plain := seal(t, &x, header.Outgoing{Transform: header.Zlib}, message)
	var f header.Frame
	if err := f.Parse(append(plain, "more"...)[4:]); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Undo(nil, &f, 1000); err == nil {
		t.Error("bytes behind a zlib stream are lost")
	}
}

func TestSeveralTransformsAreUndoneFromTheLast(t *testing.T) {
	var x header.Transformer
	payloadOf := func(b []byte) []byte {
		var f header.Frame
		if err := f.Parse(b[4:]); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(f.Payload)
	}
	inner := payloadOf(seal(t, &x, header.Outgoing{Transform: header.Zlib}, message))
	outer := payloadOf(seal(t, &x, header.Outgoing{Transform: header.Zstd}, inner))
	f := header.Frame{Transforms: []header.Transform{header.Zlib, header.Zstd}, Payload: outer}
	if got, err := x.Undo(nil, &f, 1000); err != nil || !bytes.Equal(got, message) {
		t.Errorf("% x, %v", got, err)
	}
}

func TestAHeaderThatPeersRefuseIsNotWritten(t *testing.T) {
	o := header.Outgoing{Headers: []header.Pair{{Key: "k", Value: strings.Repeat("v", 1<<16)}}}
	if b, err := o.Append([]byte("x")); err == nil || string(b) != "x" {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// A bomb is a short payload that says it is long, or is.
func TestBombsTakeNoMoreThanTheLimit(t *testing.T) {
	const bomb = 16 << 20
	var x header.Transformer
	for _, transform := range []header.Transform{header.Zlib, header.Zstd} {
		b := seal(t, &x, header.Outgoing{Transform: transform}, make([]byte, bomb))
		var f header.Frame
		if err := f.Parse(b[4:]); err != nil {
			t.Fatal(err)
		}
		const limit = 1 << 20
		var fault *diag.Fault
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := x.Undo(nil, &f, limit); !errors.As(err, &fault) || fault.Code != diag.SizeLimit {
			t.Fatalf("%v: %v", transform, err)
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 6*limit {
			t.Errorf("%v: %d bytes of %d are refused with %d bytes of memory", transform, len(b), bomb, allocated)
		}
	}
}

func FuzzFrame(f *testing.F) {
	var x header.Transformer
	f.Add(seal(f, &x, header.Outgoing{Transform: header.Zlib, Headers: []header.Pair{{Key: "k", Value: "v"}}}, message)[4:])
	f.Add(seal(f, &x, header.Outgoing{Transform: header.Zstd, Persistent: []header.Pair{{Key: "k", Value: "v"}}}, message)[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var frame header.Frame
		if frame.Parse(b) != nil {
			return
		}
		n := 0
		for k, v := range frame.Headers.All() {
			n += 2 + len(k) + len(v)
		}
		if n > len(b) || frame.Headers.Len() > len(b) {
			t.Fatalf("%d bytes of headers in %d", n, len(b))
		}
		if out, err := x.Undo(nil, &frame, 1<<16); err == nil && len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
