package ttheader_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// texts and ints render the pairs of a frame.
func texts(f *ttheader.Frame) (s string) {
	for k, v := range f.Strings.All() {
		s += fmt.Sprintf("%s=%s ", k, v)
	}
	return s
}

func ints(f *ttheader.Frame) (s string) {
	for k, v := range f.Ints.All() {
		s += fmt.Sprintf("%d=%s ", k, v)
	}
	return s
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringN(0, 40, 200)
		o := ttheader.Outgoing{
			Flags: rapid.Uint16().Draw(r, "flags"), SequenceID: rapid.Uint32().Draw(r, "sequence"),
			Protocol: ttheader.Protocol(rapid.Byte().Draw(r, "protocol")), Token: text.Draw(r, "token"),
		}
		wantTexts, wantInts := "", ""
		for range rapid.IntRange(0, 4).Draw(r, "strings") {
			p := ttheader.StringPair{Key: text.Draw(r, "key"), Value: text.Draw(r, "value")}
			o.Strings = append(o.Strings, p)
			wantTexts += p.Key + "=" + p.Value + " "
		}
		for range rapid.IntRange(0, 4).Draw(r, "ints") {
			p := ttheader.IntPair{Key: ttheader.IntKey(rapid.Uint16().Draw(r, "key")), Value: text.Draw(r, "value")}
			o.Ints = append(o.Ints, p)
			wantInts += fmt.Sprintf("%d=%s ", p.Key, p.Value)
		}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(r, "payload")
		b, err := o.Append([]byte("before"))
		if err != nil {
			r.Fatal(err)
		}
		b = append(b, payload...)
		ttheader.Seal(b, len("before"))
		b = b[len("before"):]
		if n := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]); n != len(b)-4 {
			r.Fatalf("length %d of %d", n, len(b)-4)
		}
		var f ttheader.Frame
		if err := f.Parse(b[4:]); err != nil {
			r.Fatal(err)
		}
		if f.Flags != o.Flags || f.SequenceID != o.SequenceID || f.Protocol != o.Protocol ||
			string(f.Token) != o.Token || string(f.Payload) != string(payload) || len(f.Transforms) != 0 {
			r.Fatalf("%+v became %+v", o, f)
		}
		if texts(&f) != wantTexts || ints(&f) != wantInts || f.Strings.Len() != len(o.Strings) || f.Ints.Len() != len(o.Ints) {
			r.Fatalf("headers %q and %q, want %q and %q", texts(&f), ints(&f), wantTexts, wantInts)
		}
	})
}

func TestTheLastOfEqualKeysCounts(t *testing.T) {
	o := ttheader.Outgoing{
		Strings: []ttheader.StringPair{{Key: "k", Value: "1"}, {Key: "k", Value: "2"}},
		Ints:    []ttheader.IntPair{{Key: 3, Value: "1"}, {Key: 3, Value: "2"}},
	}
	b, err := o.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var f ttheader.Frame
	if err := f.Parse(b[4:]); err != nil {
		t.Fatal(err)
	}
	s, _ := f.Strings.Get("k")
	i, _ := f.Ints.Get(3)
	if _, ok := f.Strings.Get("none"); ok || string(s) != "2" || string(i) != "2" {
		t.Errorf("%q and %q", s, i)
	}
}

func TestDamagedFramesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		frame  string
		code   diag.Code
		offset int
	}{
		"too short":               {"\x10\x00\x00", diag.UnexpectedEOF, 3},
		"another magic":           {"\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", diag.InvalidHeader, 0},
		"a header behind the end": {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00", diag.UnexpectedEOF, 8},
		"no header at all":        {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00", diag.UnexpectedEOF, 10},
		"transforms behind":       {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x09\x00\x00", diag.UnexpectedEOF, 12},
		"an unknown block":        {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x77\x00", diag.InvalidHeader, 12},
		"a key behind the end":    {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x01\x00\x09a", diag.UnexpectedEOF, 17},
		"65535 numbers":           {"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x10\xff\xff\x00\x00\x00", diag.UnexpectedEOF, 17},
	} {
		var f ttheader.Frame
		var fault *diag.Fault
		if err := f.Parse([]byte(c.frame)); !errors.As(err, &fault) || fault.Code != c.code || fault.Offset != c.offset {
			t.Errorf("%s: %v, want %v at %d", name, err, c.code, c.offset)
		}
	}
}

func TestAHeaderThatDoesNotFitIsNotWritten(t *testing.T) {
	long := strings.Repeat("v", 1<<16)
	many := make([]ttheader.StringPair, 5)
	for i := range many {
		many[i].Value = long[1:]
	}
	for name, o := range map[string]ttheader.Outgoing{
		"a long value": {Strings: []ttheader.StringPair{{Value: long}}},
		"a long key":   {Strings: []ttheader.StringPair{{Key: long}}},
		"a long int":   {Ints: []ttheader.IntPair{{Value: long}}},
		"a long token": {Token: long},
		"many pairs":   {Ints: make([]ttheader.IntPair, 1<<16)},
		"all together": {Strings: many},
	} {
		if b, err := o.Append([]byte("x")); err == nil || string(b) != "x" {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	o := ttheader.Outgoing{Token: "t", Strings: []ttheader.StringPair{{Key: "k", Value: "v"}}, Ints: []ttheader.IntPair{{Key: 3, Value: "v"}}}
	b, err := o.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var frame ttheader.Frame
		if frame.Parse(b) != nil {
			return
		}
		n := len(frame.Payload) + len(frame.Token)
		for k, v := range frame.Strings.All() {
			n += 4 + len(k) + len(v)
		}
		for _, v := range frame.Ints.All() {
			n += 4 + len(v)
		}
		if n > len(b) {
			t.Fatalf("%d bytes of parts in a frame of %d", n, len(b))
		}
	})
}
