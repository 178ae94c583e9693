package trpc_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// unhex reads bytes written in hexadecimal with spaces.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pairs returns the entries of a map as text.
func pairs(p trpc.Pairs) (out []string) {
	for k, v := range p.All() {
		out = append(out, string(k)+"="+string(v))
	}
	return out
}

func TestACallStandsOnTheWireAsTheProtocolSays(t *testing.T) {
	// The head, the header field by field, a body of two bytes and an attachment of one.
	want := unhex(t, `0930 00 00 0000003c 0029 00000007 01 00
		0801 1807 20e807 3205732e417070 3a092f732e4170702f4765
		4a08 0a016b 1203766631 5003 5801 6001
		abcd ff`)
	req := trpc.Request{Version: 1, ID: 7, Timeout: 1000, Callee: []byte("s.App"), Func: []byte("/s.App/Ge"),
		ContentType: transport.FlatBuffers, Encoding: trpc.Gzip, AttachmentSize: 1}
	b := trpc.Head{Type: trpc.Unary, ID: 7, Version: 1}.Append(nil)
	b = req.Append(b, []transport.Pair{{Key: "k", Value: "vf1"}})
	header := len(b) - trpc.HeadSize
	b = append(b, 0xab, 0xcd, 0xff)
	if err := trpc.Seal(b, 0, header, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want) {
		t.Fatalf("written % x\nwant    % x", b, want)
	}

	scan := trpc.NewScanner(1 << 10)
	for cut := range b {
		if _, n, err := scan.Next(b[:cut]); n != 0 || err != nil {
			t.Fatalf("of %d bytes: %d, %v", cut, n, err)
		}
	}
	frame, n, err := scan.Next(append(b, 9, 9))
	if err != nil || n != len(b) || len(frame) != n {
		t.Fatal(n, err)
	}
	head, err := trpc.ParseHead(frame)
	if err != nil || head.ID != 7 || int(head.Header) != header || head.Version != 1 {
		t.Fatal(head, err)
	}
	var back trpc.Request
	if err := back.Parse(frame[trpc.HeadSize : trpc.HeadSize+header]); err != nil {
		t.Fatal(err)
	}
	if got := pairs(back.TransInfo); !reflect.DeepEqual(got, []string{"k=vf1"}) {
		t.Error(got)
	}
	back.TransInfo = trpc.Pairs{}
	if !reflect.DeepEqual(back, req) {
		t.Errorf("read back %+v, want %+v", back, req)
	}
}

func TestRepliesAndStreamsComeBackAsTheyWere(t *testing.T) {
	rsp := trpc.Response{Version: 1, CallType: trpc.CallOneway, ID: 1<<32 - 1, Ret: trpc.ServerLimited, FuncRet: -5, Message: []byte("no"),
		MessageType: 3, ContentType: transport.JSON, Encoding: trpc.SnappyBlock, AttachmentSize: 300}
	var back trpc.Response
	if err := back.Parse(rsp.Append(nil, nil)); err != nil || !reflect.DeepEqual(back, rsp) {
		t.Errorf("%+v, %v", back, err)
	}
	init := trpc.Init{IsRequest: true, IsResponse: true, Caller: []byte("a"), Callee: []byte("b"), Func: []byte("/b/c"), MessageType: 1,
		Ret: -1, Message: []byte("m"), Window: 65535, ContentType: transport.FlatBuffers, Encoding: trpc.Zlib}
	frame := init.Append([]byte{1}, 100, []transport.Pair{{Key: "k", Value: "v"}, {Key: "", Value: ""}})[1:]
	head, err := trpc.ParseHead(frame)
	if err != nil || head.Type != trpc.Stream || head.Stream != trpc.StreamInit || head.ID != 100 {
		t.Fatal(head, err)
	}
	var i trpc.Init
	if err := i.Parse(frame[trpc.HeadSize:]); err != nil {
		t.Fatal(err)
	}
	if got := pairs(i.TransInfo); !reflect.DeepEqual(got, []string{"k=v", "="}) {
		t.Errorf("%q", got)
	}
	i.TransInfo = trpc.Pairs{}
	if !reflect.DeepEqual(i, init) {
		t.Errorf("%+v", i)
	}
	frame = trpc.AppendFeedback(nil, 101, 1<<20)
	if n, err := trpc.ParseFeedback(frame[trpc.HeadSize:]); err != nil || n != 1<<20 {
		t.Error(n, err)
	}
	end := trpc.Close{Reset: true, Ret: trpc.StreamIdle, Message: []byte("idle"), MessageType: 2, FuncRet: 9}
	frame = end.Append(nil, 102, []transport.Pair{{Key: "t", Value: "u"}})
	var c trpc.Close
	if err := c.Parse(frame[trpc.HeadSize:]); err != nil || !c.Failed() {
		t.Fatal(c, err)
	}
	if got := pairs(c.TransInfo); len(got) != 1 || got[0] != "t=u" {
		t.Error(got)
	}
	c.TransInfo = trpc.Pairs{}
	if !reflect.DeepEqual(c, end) {
		t.Errorf("%+v", c)
	}
}

func TestBrokenFramesAreRefusedWithAFault(t *testing.T) {
	good := trpc.AppendFeedback(nil, 1, 5)
	for name, b := range map[string][]byte{
		"another magic":                    append([]byte{9, 0x31}, good[2:]...),
		"a length below the head's":        append(append(bytes.Clone(good[:4]), 0, 0, 0, 15), good[8:]...),
		"a length beyond the limit":        append(append(bytes.Clone(good[:4]), 0, 1, 0, 0), good[8:]...),
		"a length with the highest bit":    append(append(bytes.Clone(good[:4]), 255, 255, 255, 255), good[8:]...),
		"a header that ends behind it all": append(append(bytes.Clone(good[:8]), 1, 0), good[10:]...),
	} {
		frame, n, err := trpc.NewScanner(1 << 10).Next(b)
		if n > 0 {
			_, err = trpc.ParseHead(frame)
		}
		var fault *diag.Fault
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var r trpc.Request
	for _, b := range []string{"\x08", "\x3a\x05ab", "\x4a\x02\x0a\x05", "\x00\x00", "\x0f"} {
		var fault *diag.Fault
		if err := r.Parse([]byte(b)); !errors.As(err, &fault) || fault.Code != diag.InvalidHeader {
			t.Errorf("% x: %v", b, err)
		}
	}
	if err := trpc.Seal(make([]byte, 80<<10), 0, 70<<10, 0); err == nil {
		t.Error("a header of 70 KiB fits")
	}
}

var compressions = []trpc.Compression{trpc.None, trpc.Gzip, trpc.Snappy, trpc.Zlib, trpc.SnappyStream, trpc.SnappyBlock, trpc.LZ4Frame, trpc.LZ4Block}

func TestBodiesComeBackFromEveryCompression(t *testing.T) {
	var x trpc.Compressor
	long := bytes.Repeat([]byte("a body that repeats itself, "), 10_000)
	for _, c := range compressions {
		if !c.Supported() {
			continue
		}
		for _, body := range [][]byte{nil, []byte("x"), []byte("some words"), long} {
			packed, err := x.Compress([]byte("before"), body, c)
			if err != nil {
				t.Fatal(c, err)
			}
			if len(body) == len(long) && c != trpc.None && len(packed) > len(long)/2 {
				t.Errorf("%s: %d bytes of %d", c, len(packed), len(long))
			}
			back, err := x.Decompress([]byte("b"), packed[6:], c, len(body))
			if err != nil || string(packed[:6]) != "before" || !bytes.Equal(back[1:], body) {
				t.Errorf("%s: %d bytes come back as %d, %v", c, len(body), len(back), err)
			}
			if len(body) == 0 {
				continue
			}
			var fault *diag.Fault
			if _, err := x.Decompress(nil, packed[6:], c, len(body)-1); !errors.As(err, &fault) || fault.Code != diag.SizeLimit {
				t.Errorf("%s: %d bytes where fewer are allowed: %v", c, len(body), err)
			}
			if c == trpc.None {
				continue
			}
			if _, err := x.Decompress(nil, packed[6:len(packed)-1], c, 1<<20); !errors.As(err, &fault) || fault.Code != diag.InvalidData {
				t.Errorf("%s: a byte is missing: %v", c, err)
			}
		}
	}
}

func TestUnknownCompressionsAreRefusedByName(t *testing.T) {
	var x trpc.Compressor
	for _, c := range []trpc.Compression{8, 1 << 31} {
		_, err := x.Decompress(nil, []byte("abc"), c, 100)
		var fault *diag.Fault
		if !errors.As(err, &fault) || fault.Code != diag.Unsupported || !strings.Contains(err.Error(), c.String()) {
			t.Errorf("%v", err)
		}
		if _, err := x.Compress(nil, []byte("abc"), c); err == nil {
			t.Errorf("%s compresses", c)
		}
	}
}

// What claims to be large takes no memory before it is.
func TestClaimsTakeNoMemory(t *testing.T) {
	var x trpc.Compressor
	claim := []byte{0xff, 0xff, 0xff, 0x7f, 0, 'a'} // a block of Snappy of 256 MiB
	if _, err := x.Decompress(nil, claim, trpc.SnappyBlock, 1<<30); err == nil {
		t.Error("six bytes stand for 256 MiB")
	}
}

// A call is framed, and read back in place.
func Example() {
	req := trpc.Request{Version: trpc.Version, ID: 1, ContentType: transport.FlatBuffers}
	b := trpc.Head{Type: trpc.Unary, ID: 1, Version: trpc.Version}.Append(nil)
	b = req.AppendTo(b, "/shop.Orders/Place", "shop.Orders", nil)
	header := len(b) - trpc.HeadSize
	b = append(b, "a message"...)
	if err := trpc.Seal(b, 0, header, 0); err != nil {
		fmt.Println(err)
		return
	}

	frame, _, err := trpc.NewScanner(trpc.DefaultMaxFrame).Next(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	head, _ := trpc.ParseHead(frame)
	var got trpc.Request
	if err := got.Parse(frame[trpc.HeadSize : trpc.HeadSize+int(head.Header)]); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", got.Func, got.ContentType, frame[trpc.HeadSize+int(head.Header):])
	// Output: /shop.Orders/Place flatbuffers a message
}

func FuzzFrames(f *testing.F) {
	req := trpc.Request{Version: 1, ID: 7, Func: []byte("/a/b"), ContentType: 3}
	b := req.Append(trpc.Head{ID: 7, Version: 1}.Append(nil), []transport.Pair{{Key: "k", Value: "v"}})
	if err := trpc.Seal(b, 0, len(b)-trpc.HeadSize, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(trpc.AppendFeedback(nil, 1, 2))
	init := trpc.Init{IsRequest: true, Func: []byte("/a/b"), Window: 5}
	f.Add(init.Append(nil, 3, []transport.Pair{{Key: "k", Value: "v"}}))
	end := trpc.Close{Reset: true, Message: []byte("m")}
	f.Add(end.Append(nil, 3, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, n, err := trpc.NewScanner(1 << 16).Next(b)
		if n == 0 {
			if frame != nil || err == nil && len(b) >= 1<<16 {
				t.Fatal("neither a frame nor an error")
			}
			return
		}
		head, err := trpc.ParseHead(frame)
		if err != nil {
			return
		}
		rest := frame[trpc.HeadSize:]
		var req, again trpc.Request
		if header := rest[:head.Header]; req.Parse(header) == nil {
			var given []transport.Pair
			for k, v := range req.TransInfo.All() {
				given = append(given, transport.Pair{Key: string(k), Value: string(v)})
			}
			if len(given) != req.TransInfo.Len() && req.TransInfo.Len() == 0 {
				t.Fatal(given)
			}
			if err := again.Parse(req.Append(nil, given)); err != nil || !bytes.Equal(again.Func, req.Func) || again.Timeout != req.Timeout || again.TransInfo.Len() != len(given) {
				t.Fatalf("%+v, then %+v: %v", req, again, err)
			}
		}
		var rsp trpc.Response
		_ = rsp.Parse(rest[:head.Header])
		var i trpc.Init
		if i.Parse(rest) == nil {
			pairs(i.TransInfo)
		}
		var c trpc.Close
		if c.Parse(rest) == nil {
			pairs(c.TransInfo)
		}
		_, _ = trpc.ParseFeedback(rest)
	})
}

func FuzzDecompress(f *testing.F) {
	var x trpc.Compressor
	for _, c := range compressions {
		if b, err := x.Compress(nil, []byte("some words and some words"), c); err == nil {
			f.Add(uint32(c), b)
		}
	}
	f.Fuzz(func(t *testing.T, c uint32, b []byte) {
		const limit = 1 << 16
		out, err := x.Decompress(nil, b, trpc.Compression(c), limit)
		if err == nil && len(out) > limit {
			t.Fatalf("%d bytes", len(out))
		}
		if err != nil {
			var fault *diag.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		packed, err := x.Compress(nil, out, trpc.Compression(c))
		if err != nil {
			t.Fatal(err)
		}
		back, err := x.Decompress(nil, packed, trpc.Compression(c), limit)
		if err != nil || !bytes.Equal(back, out) {
			t.Fatalf("%d bytes come back as %d: %v", len(out), len(back), err)
		}
	})
}
