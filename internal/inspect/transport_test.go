package inspect_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// theader frames a payload for fbthrift's header transport.
func theader(t testing.TB, o header.Outgoing, payload []byte) []byte {
	t.Helper()
	b, err := o.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var x header.Transformer
	if b, err = x.Seal(append(b, payload...), 0, len(b), o.Transform); err != nil {
		t.Fatal(err)
	}
	return b
}

// tt frames a payload for TTHeader.
func tt(t testing.TB, o ttheader.Outgoing, payload []byte) []byte {
	t.Helper()
	b, err := o.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, payload...)
	ttheader.Seal(b, 0)
	return b
}

func TestTreesOfFramesWithHeaders(t *testing.T) {
	f := shopFile(t)
	o := inspect.Options{Method: func(name string) *schema.Method { return f.Service("Shop").Method(name) }}
	message := call("search", search())
	compactCall := append(compact.FBThrift.AppendMessage(nil, thriftwire.Call, "search", 9), asCompact(t, compact.FBThrift, search())...)
	pairs := []header.Pair{{Key: "client_timeout", Value: "250"}, {Key: "odd\x1b", Value: "\u202e"}}
	ints := []ttheader.IntPair{{Key: ttheader.ToMethod, Value: "search"}}
	strings := []ttheader.StringPair{{Key: "trace", Value: "7"}}
	two := theader(t, header.Outgoing{SequenceID: 1}, message)
	// The first 30 bytes of message through zlib, as bytes: what a compressor
	// makes of them depends on its version.
	cut, err := hex.DecodeString("000000350fff000000000000000100010100" +
		"789c6a606460646060602b4e4d2c4ace60606060e76160e4068b7165e601020000ffff42b00400")
	if err != nil {
		t.Fatal(err)
	}
	asked := o
	asked.Format.Framing = inspect.TTHeader
	for _, c := range []treeCase{
		{"header transport", theader(t, header.Outgoing{SequenceID: 7, Headers: pairs}, message), o},
		{"header transport with zstd and the compact protocol", theader(t, header.Outgoing{SequenceID: 7, Protocol: header.Compact, Transform: header.Zstd}, compactCall), o},
		{"header transport with another protocol", theader(t, header.Outgoing{Protocol: header.JSON}, []byte("[1]")), o},
		{"header transport with two frames", append(two, two...), o},
		{"header transport with a cut payload", cut, o},
		{"header transport with a damaged payload", append(bytes.Clone(cut[:len(cut)-1]), 0xff), o},
		{"header transport with a header that is too long", []byte{0, 0, 0, 10, 0x0f, 0xff, 0, 0, 0, 0, 0, 7, 0xff, 0xff}, o},
		{"ttheader", tt(t, ttheader.Outgoing{SequenceID: 7, Ints: ints, Strings: strings, Token: "secret"}, message), o},
		{"ttheader with protobuf", tt(t, ttheader.Outgoing{Protocol: ttheader.Protobuf}, []byte{8, 1}), o},
		{"ttheader that is none", frame(message), asked},
	} {
		checkTree(t, c)
	}
}
