package inspect_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func shopFile(t testing.TB) *schema.File {
	t.Helper()
	f, findings := thriftidl.Load("../../examples/shop/shop.thrift")
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// show runs Write and returns the tree with the error behind it.
func show(data []byte, o inspect.Options) string {
	var out bytes.Buffer
	if err := inspect.Write(&out, data, o); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

// order is an order of the bookshop with something of everything.
func order() []byte {
	b := thriftwire.AppendI64(thriftwire.AppendField(nil, thriftwire.I64, 1), 7)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 2), "Ada \x1b[31m\u202e")
	b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.List, 3), thriftwire.Struct, 2)
	for i := range 2 {
		b = thriftwire.AppendI64(thriftwire.AppendField(b, thriftwire.I64, 1), int64(i))
		b = thriftwire.AppendStop(thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 2), 3))
	}
	b = thriftwire.AppendField(b, thriftwire.Struct, 4)
	b = thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 3), "ada@example.org"))
	b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 5), 1)
	b = thriftwire.AppendMap(thriftwire.AppendField(b, thriftwire.Map, 7), thriftwire.I32, thriftwire.I64, 2)
	b = thriftwire.AppendI64(thriftwire.AppendI32(b, 0), 1767225660)
	b = thriftwire.AppendI64(thriftwire.AppendI32(b, 9), 1767225661)
	return thriftwire.AppendStop(b)
}

// everything has values of all wire types, and entries whose keys are structs.
func everything() []byte {
	b := thriftwire.AppendBool(thriftwire.AppendField(nil, thriftwire.Bool, 1), true)
	b = thriftwire.AppendI8(thriftwire.AppendField(b, thriftwire.I8, 2), -2)
	b = thriftwire.AppendI16(thriftwire.AppendField(b, thriftwire.I16, 3), 300)
	b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 4), -70000)
	b = thriftwire.AppendI64(thriftwire.AppendField(b, thriftwire.I64, 5), 1<<40)
	b = thriftwire.AppendDouble(thriftwire.AppendField(b, thriftwire.Double, 6), 1.5)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 7), "a line\nand one more")
	b = thriftwire.AppendBytes(thriftwire.AppendField(b, thriftwire.String, 8), []byte{0, 1, 0xff})
	b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.List, 10), thriftwire.I32, 3)
	for i := range 3 {
		b = thriftwire.AppendI32(b, int32(i))
	}
	b = thriftwire.AppendMap(thriftwire.AppendField(b, thriftwire.Map, 15), thriftwire.Struct, thriftwire.Set, 1)
	b = thriftwire.AppendI16(thriftwire.AppendField(b, thriftwire.I16, 1), 4)
	b = thriftwire.AppendStop(thriftwire.AppendI8(thriftwire.AppendField(b, thriftwire.I8, 2), 5))
	b = thriftwire.AppendI16(thriftwire.AppendList(b, thriftwire.I16, 1), 6)
	b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.List, 19), thriftwire.Stop, 0)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 20), "no number")
	b = thriftwire.AppendFloat(thriftwire.AppendField(b, thriftwire.Float, 99), 0.1)
	b = thriftwire.AppendUUID(thriftwire.AppendField(b, thriftwire.UUID, 100), [16]byte{0x6b, 0xa7, 15: 1})
	return thriftwire.AppendStop(b)
}

// asCompact rewrites a binary struct.
func asCompact(t testing.TB, d compact.Dialect, b []byte) []byte {
	t.Helper()
	out, n := d.AppendFromBinary(nil, b, thriftwire.Struct, 64)
	if n < 0 {
		t.Fatal(thriftwire.Error(n))
	}
	return out
}

func frame(b []byte) []byte { return append(thriftwire.AppendI32(nil, int32(len(b))), b...) }

func call(name string, args []byte) []byte {
	return append(thriftwire.AppendMessage(nil, thriftwire.Call, name, 7), args...)
}

// search is the arguments of Shop.search.
func search() []byte {
	b := thriftwire.AppendField(nil, thriftwire.Struct, 1)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 1), "invisibili")
	return append(b, 0, 0)
}

func TestTrees(t *testing.T) {
	f := shopFile(t)
	def := func(name string) inspect.Options { return inspect.Options{Struct: f.Struct(name)} }
	methods := inspect.Options{Method: func(name string) *schema.Method { return f.Service("Shop").Method(name) }}
	cut := func(b []byte, n int) []byte { return b[:len(b)-n] }
	exception := thriftwire.AppendMessage(nil, thriftwire.Exception, "search", 7)
	exception = thriftwire.AppendString(thriftwire.AppendField(exception, thriftwire.String, 1), "no such method")
	exception = thriftwire.AppendStop(thriftwire.AppendI32(thriftwire.AppendField(exception, thriftwire.I32, 2), 1))
	reply := append(thriftwire.AppendMessage(nil, thriftwire.Reply, "getBook", 7),
		append(thriftwire.AppendField(nil, thriftwire.Struct, 0), 0, 0)...)
	long := thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 7), strings.Repeat("ä", 300))
	long = thriftwire.AppendList(thriftwire.AppendField(long, thriftwire.List, 10), thriftwire.I32, 1000)
	long = append(append(long, make([]byte, 4000)...), 0)
	binary := inspect.Format{Protocol: inspect.Binary, Framing: inspect.Unframed, Envelope: inspect.Bare}
	for _, c := range []treeCase{
		{"a struct with its schema", order(), def("Order")},
		{"a struct without a schema", order(), inspect.Options{}},
		{"every type with a schema", everything(), def("Everything")},
		{"every type without a schema", everything(), inspect.Options{}},
		{"the compact protocol", asCompact(t, compact.Apache, order()), def("Order")},
		{"the compact protocol of fbthrift, which must be named", asCompact(t, compact.FBThrift, order()),
			inspect.Options{Struct: f.Struct("Order"), Format: inspect.Format{Protocol: inspect.CompactFBThrift}}},
		{"a framed call", frame(call("search", search())), methods},
		{"two framed calls", append(frame(call("search", search())), frame(call("nothing", search()))...), methods},
		{"an unframed call", call("search", search()), methods},
		{"a compact call", append(compact.FBThrift.AppendMessage(nil, thriftwire.Call, "search", 9), asCompact(t, compact.FBThrift, search())...), methods},
		{"a call without a version", append(thriftwire.AppendNonStrictMessage(nil, thriftwire.Oneway, "search", 7), search()...), methods},
		{"a reply that lacks what is required", reply, methods},
		{"an exception of the protocol", exception, methods},
		{"limits", long, inspect.Options{Struct: f.Struct("Everything"), MaxParts: 3, MaxText: 20}},
		{"a limit of the output", everything(), inspect.Options{Struct: f.Struct("Everything"), MaxBytes: 200}},
		{"a fault beyond the limit of the output", cut(everything(), 4), inspect.Options{Struct: f.Struct("Everything"), MaxBytes: 200}},
		{"a fault among elements that are not shown", cut(long, 2), inspect.Options{Format: binary, MaxParts: 3, MaxText: 20}},
		{"a struct that is cut", cut(order(), 5), def("Order")},
		{"a length that exceeds the message", append(bytes.Clone(order()[:14]), 0x7f, 0xff, 0xff, 0xff, 'A'), def("Order")},
		{"a type that does not exist", append(bytes.Clone(order()[:11]), 0x63, 0, 1, 2, 3), def("Order")},
		{"a frame that is longer than its message", append([]byte{0, 0, 0, 24}, append(call("x", []byte{0}), 1, 2, 3, 4, 5, 6, 7)...), inspect.Options{}},
		{"a frame that is cut", cut(frame(call("search", search())), 3), methods},
		{"a union with two fields", []byte{0x0b, 0, 3, 0, 0, 0, 0, 0x0c, 0, 2, 0, 0}, def("Delivery")},
		{"what is no message, where one is asked for", []byte("GET / HTTP/1.1\r\n"), inspect.Options{Format: inspect.Format{Envelope: inspect.Strict}}},
		{"text, which is nothing of this", []byte("GET / HTTP/1.1\r\n"), inspect.Options{}},
		{"nothing", nil, inspect.Options{}},
		{"colours", cut(search(), 1), inspect.Options{Color: true}},
	} {
		checkTree(t, c)
	}
}

// treeCase is a message with what is shown of it under testdata.
type treeCase struct {
	name string
	data []byte
	o    inspect.Options
}

func checkTree(t *testing.T, c treeCase) {
	t.Helper()
	text := hex.EncodeToString(c.data[:min(64, len(c.data))]) + "\n\n" + show(c.data, c.o)
	path := filepath.Join("testdata", strings.NewReplacer(" ", "-", ",", "").Replace(c.name)+".golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs, -rewrite accepts it; got:\n%s", path, text)
	}
}

// TestFaultsStandWhereTheCorpusSays runs the corpus: what cannot be read ends
// the tree where the model finds the fault.
func TestFaultsStandWhereTheCorpusSays(t *testing.T) {
	for _, c := range conform.Corpus(t, "../conform/testdata") {
		if c.Rules.MaxDepth > 0 || c.Rules.MaxContainer > 0 {
			continue // which have their own limits here
		}
		for _, b := range c.Bytes {
			format := inspect.Format{Protocol: inspect.Binary, Framing: inspect.Unframed, Envelope: inspect.Bare}
			switch b.Protocol {
			case conform.Apache:
				format.Protocol = inspect.Compact
			case conform.FBThrift:
				format.Protocol = inspect.CompactFBThrift
			}
			err := inspect.Write(new(bytes.Buffer), b.Data, inspect.Options{Format: format, Struct: c.Type.Struct()})
			if b.Fault == nil {
				if err != nil {
					t.Errorf("%s: %v", c.Name, err)
				}
				continue
			}
			// What does not fit the schema is only remarked on.
			switch b.Fault.Code {
			case "unexpected-eof", "invalid-length", "invalid-data", "invalid-type":
				if got := conform.FaultOf(err); got == nil || got.Code != b.Fault.Code || got.Offset != b.Fault.Offset {
					t.Errorf("%s: %v, want %v", c.Name, err, b.Fault)
				}
			}
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestAFailingWriterIsReported(t *testing.T) {
	if err := inspect.Write(failingWriter{}, order(), inspect.Options{}); err == nil || err.Error() != "the disk is full" {
		t.Error(err)
	}
}

// checkHarmless fails if s holds what could upset a terminal.
func checkHarmless(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("%q holds %U", s, r)
		}
	}
}

func checkFault(t *testing.T, b []byte, err error) {
	t.Helper()
	if fault := (*diag.Fault)(nil); err != nil && (!errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(b)) {
		t.Fatalf("%x: %v", b, err)
	}
}

func FuzzWrite(f *testing.F) {
	file := shopFile(f)
	types := []*schema.StructDef{nil, file.Struct("Order"), file.Struct("Everything"), file.Struct("Delivery")}
	for i, b := range [][]byte{order(), everything(), asCompact(f, compact.Apache, order()), frame(call("search", search())), call("search", search()), []byte("{}")} {
		f.Add(b, uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, which, protocol uint8) {
		o := inspect.Options{Struct: types[int(which)%len(types)], MaxBytes: 4000, MaxParts: 10, MaxText: 20}
		o.Method = func(string) *schema.Method { return file.Service("Shop").Methods()[int(which)%3] }
		o.Format.Protocol = inspect.Protocol(protocol % 5)
		var out bytes.Buffer
		err := inspect.Write(&out, b, o)
		checkHarmless(t, out.String())
		if out.Len() > 5000 {
			t.Fatalf("%d bytes of output", out.Len())
		}
		checkFault(t, b, err)
		// One struct is shown without a fault exactly if it can be skipped.
		o.Format = inspect.Format{Protocol: inspect.Binary, Framing: inspect.Unframed, Envelope: inspect.Bare}
		if n := thriftwire.Skip(b, thriftwire.Struct, 1024); n == len(b) || n < 0 {
			if err := inspect.Write(&out, b, o); (err == nil) != (n > 0) {
				t.Fatalf("%x: %v, where skipping gives %d", b, err, n)
			}
		}
	})
}
