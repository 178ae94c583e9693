package grpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"testing/iotest"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
)

func TestContentTypesNameTheFormat(t *testing.T) {
	for text, want := range map[string]string{
		"application/grpc": "", "application/grpc+proto": "proto", "Application/GRPC+FlatBuffers": "flatbuffers",
		"application/grpc;charset=utf-8": "", "application/grpc+json ; x=y": "json",
	} {
		if got, ok := grpc.ParseContentType(text); !ok || got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "application/grp", "application/grpc-web", "application/grpcx", "application/grpc+", "text/plain"} {
		if got, ok := grpc.ParseContentType(text); ok {
			t.Errorf("%q is taken, with %q", text, got)
		}
	}
}

func TestTimeoutsComeBackRoundedUp(t *testing.T) {
	for _, d := range []time.Duration{1, 99_999_999, 100_000_000, 123_456_789, time.Second, 1<<40 + 1, 1<<50 + 1, math.MaxInt64} {
		text := grpc.FormatTimeout(d)
		got, err := grpc.ParseTimeout(text)
		if err != nil || got < d || float64(got) > float64(d)*1.001 {
			t.Errorf("%d is %q, which is %d, %v", d, text, got, err)
		}
	}
	if text := grpc.FormatTimeout(-1); text != "1n" {
		t.Errorf("what has passed is %q", text)
	}
	if d, err := grpc.ParseTimeout("99999999H"); d != math.MaxInt64 || err != nil {
		t.Errorf("the longest: %d, %v", d, err)
	}
	for _, text := range []string{"", "1", "S", "1s", "123456789S", "-1S", "+1S", "1.5S", "1 S", "1SS"} {
		if d, err := grpc.ParseTimeout(text); err == nil {
			t.Errorf("%q is %d", text, d)
		}
	}
}

func TestMessagesOfStatusesAreAnyText(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain text": "plain text", "100%": "100%25", "ä\n": "%C3%A4%0A", "~\x7f": "~%7F"} {
		got := grpc.EncodeMessage(text)
		if got != want || grpc.DecodeMessage(got) != text {
			t.Errorf("%q is %q, and back %q", text, got, grpc.DecodeMessage(got))
		}
	}
	for text, want := range map[string]string{"%": "%", "%4": "%4", "%zz%41": "%zzA", "%ff": "\uFFFD", "\xff": "\uFFFD"} {
		if got := grpc.DecodeMessage(text); got != want {
			t.Errorf("%q reads as %q, want %q", text, got, want)
		}
	}
}

func TestBinaryMetadataIsBase64(t *testing.T) {
	for _, value := range []string{"", "a", "\x00\xff\x10", "four"} {
		text := grpc.EncodeBinary(value)
		for _, form := range []string{text, text + "====="[:(4-len(text)%4)%4], " " + text, text + ",AAAA"} {
			if got, err := grpc.DecodeBinary(form); err != nil || got != value {
				t.Errorf("%q as %q is %q, %v", value, form, got, err)
			}
		}
	}
	if _, err := grpc.DecodeBinary("no!"); err == nil {
		t.Error("what is no base64 is taken")
	}
	if !grpc.IsBinary("Trace-Bin") || grpc.IsBinary("-bin") || grpc.IsBinary("trace") {
		t.Error("the names of binary fields end in -bin")
	}
	if !grpc.IsReserved("Grpc-Timeout") || !grpc.IsReserved(":path") || grpc.IsReserved("grpc") {
		t.Error("the protocol's own fields are no metadata")
	}
}

func TestCodesAreReadAsTheSpecificationHasIt(t *testing.T) {
	for text, want := range map[string]grpc.Code{"0": grpc.OK, "16": grpc.Unauthenticated, "17": grpc.Unknown, "": grpc.Unknown, "-1": grpc.Unknown, "x": grpc.Unknown} {
		if got := grpc.ParseCode(text); got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
	if text := (&grpc.Status{Code: grpc.NotFound, Message: "no book"}).Error(); text != "not found: no book" {
		t.Error(text)
	}
	if text := grpc.Code(99).String() + (&grpc.Status{Code: grpc.Aborted}).Error(); text != "code 99aborted" {
		t.Error(text)
	}
	if grpc.CodeOfHTTP(503) != grpc.Unavailable || grpc.CodeOfHTTP(404) != grpc.Unimplemented || grpc.CodeOfHTTP(418) != grpc.Unknown {
		t.Error("statuses of HTTP have their codes")
	}
}

// body returns a body of messages.
func body(messages ...string) []byte {
	var b []byte
	for i, m := range messages {
		var prefix [grpc.PrefixSize]byte
		grpc.PutPrefix(prefix[:], len(m), i%2 == 1)
		b = append(append(b, prefix[:]...), m...)
	}
	return b
}

func TestMessagesAreTakenOutOfABody(t *testing.T) {
	want := []string{"one", "", string(make([]byte, 100_000)), "four"}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "by halves": iotest.HalfReader, "by bytes": iotest.OneByteReader,
	} {
		var pool transport.Pool
		r := grpc.NewReader(wrap(bytes.NewReader(body(want...))), &pool, 1<<20, nil)
		for i, w := range want {
			m, compressed, block, err := r.Next()
			if err != nil || string(m) != w || compressed != (i%2 == 1) {
				t.Fatalf("%s: message %d has %d bytes, %v, %v", name, i, len(m), compressed, err)
			}
			block.Release()
		}
		if _, _, _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
		r.Close()
	}
}

func TestBodiesThatAreBrokenAreErrors(t *testing.T) {
	var pool transport.Pool
	refused := errors.New("no room")
	for name, c := range map[string]struct {
		body    []byte
		arrived func(int) error
		check   func(error) bool
	}{
		"cut off in a prefix":  {body("whole")[:3], nil, func(err error) bool { return isFault(err, diag.UnexpectedEOF) }},
		"cut off in a message": {body("whole")[:8], nil, func(err error) bool { return isFault(err, diag.UnexpectedEOF) }},
		"too large":            {body(string(make([]byte, 101))), nil, func(err error) bool { return isFault(err, diag.SizeLimit) }},
		"no prefix":            {[]byte("HTTP/1.1"), nil, func(err error) bool { return isFault(err, diag.InvalidHeader) }},
		"refused":              {body("whole"), func(int) error { return refused }, func(err error) bool { return err == refused }},
	} {
		r := grpc.NewReader(bytes.NewReader(c.body), &pool, 100, c.arrived)
		if _, _, _, err := r.Next(); !c.check(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isFault(err error, code diag.Code) bool {
	var fault *diag.Fault
	return errors.As(err, &fault) && fault.Code == code
}

func FuzzReader(f *testing.F) {
	f.Add(body("one", "two"))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var pool transport.Pool
		r := grpc.NewReader(iotest.HalfReader(bytes.NewReader(b)), &pool, 1<<10, nil)
		defer r.Close()
		for at := 0; ; {
			m, compressed, block, err := r.Next()
			if err != nil {
				return
			}
			var prefix [grpc.PrefixSize]byte
			grpc.PutPrefix(prefix[:], len(m), compressed)
			if whole := append(prefix[:], m...); !bytes.Equal(whole, b[at:at+len(whole)]) {
				t.Fatalf("the message at %d reads as %q", at, m)
			}
			at += grpc.PrefixSize + len(m)
			block.Release()
		}
	})
}

func Example() {
	message := []byte("a message")
	b := make([]byte, grpc.PrefixSize, grpc.PrefixSize+len(message))
	grpc.PutPrefix(b, len(message), false)
	b = append(b, message...)

	r := grpc.NewReader(bytes.NewReader(b), new(transport.Pool), 1<<20, nil)
	defer r.Close()
	got, compressed, block, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %v %s\n", got, compressed, grpc.FormatTimeout(1500*time.Millisecond))
	block.Release()
	// Output: a message false 1500000u
}
