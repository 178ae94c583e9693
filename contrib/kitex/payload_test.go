package kitex_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/pkg/remote"
	kitexthrift "github.com/cloudwego/kitex/pkg/remote/codec/thrift"
	"github.com/cloudwego/kitex/pkg/rpcinfo"
	"github.com/cloudwego/kitex/pkg/serviceinfo"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/contrib/kitex"
	slim "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/slim/shop"
	untagged "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/untagged/shop"
)

// These tests look at single payloads, without a network.

// reply returns a message as a client of method echo sees it.
func reply(c remote.PayloadCodec, data any) remote.Message {
	invocation := rpcinfo.NewInvocation("shop", "echo")
	info := rpcinfo.NewRPCInfo(nil, nil, invocation, rpcinfo.NewRPCConfig(), rpcinfo.NewRPCStats())
	invocation.SetSeqID(7)
	m := remote.NewMessage(data, info, remote.Reply, remote.Client)
	m.SetPayloadCodec(c)
	return m
}

func marshal(t *testing.T, c remote.PayloadCodec, data any) []byte {
	t.Helper()
	out := remote.NewWriterBuffer(64)
	if err := c.Marshal(t.Context(), reply(c, data), out); err != nil {
		t.Fatal(err)
	}
	b, err := out.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func echoed() *slim.ShopEchoResult {
	return &slim.ShopEchoResult{Success: &slim.Everything{
		Text: "text", Data: []byte("data"), Words: []string{"a", "b"}, Numbers: []int32{1, 2},
		ByText: map[string]float64{"pi": 3}, Author: &slim.Author{Name: "Ada"}, Shelf: &slim.Shelf{},
	}}
}

func TestEveryPrefixOfAPayloadIsAnError(t *testing.T) {
	c := kitex.New()
	b := marshal(t, c, echoed())
	for _, framed := range []bool{true, false} {
		for i := range b {
			m := reply(c, new(slim.ShopEchoResult))
			if framed {
				m.SetPayloadLen(i)
			}
			if err := c.Unmarshal(t.Context(), m, remote.NewReaderBuffer(b[:i:i])); err == nil {
				t.Fatalf("framed %t: the first %d of %d bytes decode", framed, i, len(b))
			}
		}
	}
}

func TestBytesBehindAnUnframedMessageAreLeft(t *testing.T) {
	c := kitex.New()
	b := marshal(t, c, echoed())
	in := remote.NewReaderBuffer(append(bytes.Clone(b), "next"...))
	result := new(slim.ShopEchoResult)
	if err := c.Unmarshal(t.Context(), reply(c, result), in); err != nil {
		t.Fatal(err)
	}
	if in.ReadLen() != len(b) || result.Success.Text != "text" {
		t.Errorf("%d of %d bytes taken, %+v", in.ReadLen(), len(b), result.Success)
	}
}

// greedyBuffer has some bytes, after which nothing comes, and notes how much
// is asked for.
type greedyBuffer struct {
	remote.ByteBuffer
	have, most int
}

func (b *greedyBuffer) ask(n int) error {
	b.most = max(b.most, n)
	if n > b.have {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (b *greedyBuffer) Peek(n int) ([]byte, error) {
	if err := b.ask(n); err != nil {
		return nil, err
	}
	return b.ByteBuffer.Peek(n)
}

func (b *greedyBuffer) Next(n int) ([]byte, error) {
	if err := b.ask(n); err != nil {
		return nil, err
	}
	return b.ByteBuffer.Next(n)
}

func TestLengthsThatAreClaimedAreNotAskedFor(t *testing.T) {
	c := kitex.New()
	claim := marshal(t, c, &slim.ShopCoverResult{Success: []byte("x")})
	// The length of the only string becomes 128 MiB.
	at := bytes.LastIndex(claim, []byte{0, 0, 0, 1, 'x'})
	binary.BigEndian.PutUint32(claim[at:], 128<<20)
	for name, payload := range map[string]int{"framed": 128 << 20, "unframed": 0} {
		in := &greedyBuffer{ByteBuffer: remote.NewReaderBuffer(claim), have: len(claim)}
		m := reply(c, new(slim.ShopCoverResult))
		m.SetPayloadLen(payload)
		if err := c.Unmarshal(t.Context(), m, in); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v", name, err)
		}
		if in.most > 64<<10 {
			t.Errorf("%s: %d bytes were asked for when %d had come", name, in.most, len(claim))
		}
	}
}

func TestMessagesBeyondTheLimitAreRefused(t *testing.T) {
	b := marshal(t, kitex.New(), echoed())
	exact, short := kitex.New(kitex.MaxMessage(len(b))), kitex.New(kitex.MaxMessage(len(b)-1))
	marshal(t, exact, echoed())
	if err := short.Marshal(t.Context(), reply(short, echoed()), remote.NewWriterBuffer(64)); err == nil {
		t.Error("a message beyond the limit is written")
	}
	for _, payload := range []int{len(b), 0} {
		for _, c := range []remote.PayloadCodec{exact, short} {
			m := reply(c, new(slim.ShopEchoResult))
			m.SetPayloadLen(payload)
			if err := c.Unmarshal(t.Context(), m, remote.NewReaderBuffer(b)); (err == nil) != (c == exact) {
				t.Errorf("length %d: got %v", payload, err)
			}
		}
	}
}

// directBuffer is a buffer that takes pieces without copying.
type directBuffer struct {
	remote.ByteBuffer
	direct [][]byte
	acked  int
	change func()
}

func (b *directBuffer) WriteDirect(p []byte, remainCap int) error {
	b.direct = append(b.direct, p)
	return nil
}

func (b *directBuffer) MallocAck(n int) error {
	b.acked = n
	return nil
}

func (b *directBuffer) Malloc(n int) ([]byte, error) {
	if b.change != nil {
		b.change()
	}
	return b.ByteBuffer.Malloc(n)
}

func TestLargeBinariesAreNotCopied(t *testing.T) {
	c := kitex.New()
	cover := bytes.Repeat([]byte("c"), codec.DirectSize)
	out := &directBuffer{ByteBuffer: remote.NewWriterBuffer(64)}
	if err := c.Marshal(t.Context(), reply(c, &slim.ShopCoverResult{Success: cover}), out); err != nil {
		t.Fatal(err)
	}
	if len(out.direct) != 1 || &out.direct[0][0] != &cover[0] || out.acked != out.WrittenLen() {
		t.Errorf("%d pieces, %d of %d bytes acknowledged", len(out.direct), out.acked, out.WrittenLen())
	}
}

// What Malloc gave and nothing filled may hold the bytes of other messages.
func TestAValueThatShrinksWhileItIsEncodedIsNotSent(t *testing.T) {
	c := kitex.New()
	for _, size := range []int{100, 2 * codec.DirectSize} {
		data := &slim.ShopCoverResult{Success: make([]byte, size)}
		out := &directBuffer{ByteBuffer: remote.NewWriterBuffer(64)}
		out.change = func() { data.Success = data.Success[:size-10] }
		if err := c.Marshal(t.Context(), reply(c, data), out); err == nil || !strings.Contains(err.Error(), "changed") {
			t.Errorf("size %d: got %v", size, err)
		}
	}
}

func TestKitexsOwnCodecCannotHandleSlimStructsWithoutFrugalTags(t *testing.T) {
	own := kitexthrift.NewThriftCodec()
	err := own.Marshal(t.Context(), reply(own, &untagged.ShopEchoResult{}), remote.NewWriterBuffer(64))
	if err == nil || !strings.Contains(err.Error(), "codec msg type not match with thriftCodec") {
		t.Fatalf("got %v", err)
	}
	// Whatever the options, Thrum's does.
	for _, c := range []remote.PayloadCodec{kitex.New(kitex.ReadOnly()), kitex.New(kitex.WriteOnly())} {
		b := marshal(t, c, &untagged.ShopDrillArgs{How: untagged.Failure_PANIC})
		args := new(untagged.ShopDrillArgs)
		if err := c.Unmarshal(t.Context(), reply(c, args), remote.NewReaderBuffer(b)); err != nil || args.How != untagged.Failure_PANIC {
			t.Errorf("%+v, %v", args, err)
		}
	}
}

// old is what generators once wrote: tags without types, and code. Codec would
// take State, an enum, for an i64.
type (
	state int64
	old   struct {
		State state `thrift:"state,1"`
	}
)

func (o *old) BLength() int { return 8 }

func (o *old) FastWriteNocopy(b []byte, w thrift.NocopyWriter) int {
	return copy(b, []byte{8, 0, 1, 0, 0, 0, byte(o.State), 0})
}

func (o *old) FastRead(b []byte) (int, error) {
	o.State = state(b[6])
	return 8, nil
}

// opaque has code and no tags.
type opaque struct{ V string }

func (o *opaque) BLength() int                                        { return 1 }
func (o *opaque) FastWriteNocopy(b []byte, w thrift.NocopyWriter) int { return copy(b, []byte{0}) }
func (o *opaque) FastRead(b []byte) (int, error)                      { o.V = "read"; return 1, nil }

func TestTypesThatTagsDoNotTellAreLeftToKitex(t *testing.T) {
	c, own := kitex.New(), kitexthrift.NewThriftCodec()
	b := marshal(t, c, &old{State: 5})
	if want := marshal(t, own, &old{State: 5}); !bytes.Equal(b, want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
	var o old
	if err := c.Unmarshal(t.Context(), reply(c, &o), remote.NewReaderBuffer(b)); err != nil || o.State != 5 {
		t.Errorf("%+v, %v", o, err)
	}
	var v opaque
	b = marshal(t, c, &v)
	if err := c.Unmarshal(t.Context(), reply(c, &v), remote.NewReaderBuffer(b)); err != nil || v.V != "read" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestATypeThatNeitherCanHandleSaysWhy(t *testing.T) {
	type nameless struct{ V string }
	type list struct {
		L []int32 `thrift:"l,1"`
	}
	c := kitex.New()
	for data, reason := range map[any]string{&nameless{}: "no tagged fields", &list{}: "list or a set"} {
		err := c.Marshal(t.Context(), reply(c, data), remote.NewWriterBuffer(64))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%T: got %v", data, err)
		}
	}
}

func TestKitexsOptionsPrintANameOnly(t *testing.T) {
	if s := fmt.Sprintf("%+v", kitex.New()); s != "thrum" {
		t.Errorf("the codec is printed as %.100q", s)
	}
}

func TestFieldsWithoutCopyDoNotAliasKitexsBuffers(t *testing.T) {
	type view struct {
		Data []byte `frugal:"1,default,binary,nocopy"`
	}
	c := kitex.New()
	b := marshal(t, c, &view{[]byte("data")})
	var v view
	if err := c.Unmarshal(t.Context(), reply(c, &v), remote.NewReaderBuffer(b)); err != nil {
		t.Fatal(err)
	}
	clear(b)
	if string(v.Data) != "data" {
		t.Errorf("the field changed to %q", v.Data)
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	type fields []byte
	type kept struct {
		A              int32 `thrift:"a,1"`
		_unknownFields fields
	}
	c := kitex.New()
	b := marshal(t, c, &slim.ShopCoverResult{Success: []byte("x")}) // field 0
	var v kept
	if err := c.Unmarshal(t.Context(), reply(c, &v), remote.NewReaderBuffer(b)); err != nil {
		t.Fatal(err)
	}
	if again := marshal(t, c, &v); !bytes.Contains(again, b[16:24]) || len(v._unknownFields) != 8 {
		t.Errorf("got %x of %x", again, b)
	}
}

func TestExceptionsAreKitexs(t *testing.T) {
	c, own := kitex.New(), kitexthrift.NewThriftCodec()
	var written [2][]byte
	for i, each := range []remote.PayloadCodec{c, own} {
		m := reply(each, remote.NewTransErrorWithMsg(remote.UnknownMethod, "no such method"))
		m.SetMessageType(remote.Exception)
		out := remote.NewWriterBuffer(64)
		if err := each.Marshal(t.Context(), m, out); err != nil {
			t.Fatal(err)
		}
		written[i], _ = out.Bytes()
	}
	if !bytes.Equal(written[0], written[1]) {
		t.Errorf("got  %x\nwant %x", written[0], written[1])
	}
	err := c.Unmarshal(t.Context(), reply(c, echoed()), remote.NewReaderBuffer(written[0]))
	var app *remote.TransError
	if !errors.As(err, &app) || app.TypeID() != remote.UnknownMethod {
		t.Errorf("got %v", err)
	}
}

func TestWrongEnvelopesAreRefused(t *testing.T) {
	c := kitex.New()
	b := marshal(t, c, echoed())
	for what, change := range map[string]func(b []byte){
		"version":     func(b []byte) { b[1] = 2 },
		"name length": func(b []byte) { b[4] = 0xff },
		"name":        func(b []byte) { b[8] = 'E' },
		"kind":        func(b []byte) { b[3] = 1 },
		"sequence id": func(b []byte) { b[15]++ },
	} {
		wrong := bytes.Clone(b)
		change(wrong)
		if err := c.Unmarshal(t.Context(), reply(c, new(slim.ShopEchoResult)), remote.NewReaderBuffer(wrong)); err == nil {
			t.Errorf("another %s is accepted", what)
		}
	}
}

func TestPretouchCompilesAService(t *testing.T) {
	for name, newInfo := range templates {
		if err := kitex.Pretouch(newInfo()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is left to Kitex is passed over.
	info := &serviceinfo.ServiceInfo{Methods: map[string]serviceinfo.MethodInfo{
		"m": serviceinfo.NewMethodInfo(nil, func() any { return new(old) }, func() any { return new(opaque) }, false),
	}}
	if err := kitex.Pretouch(info); err != nil {
		t.Error(err)
	}
}

// FuzzUnmarshal reads any bytes, with and without a length.
func FuzzUnmarshal(f *testing.F) {
	c := kitex.New(kitex.MaxMessage(1 << 20))
	out := remote.NewWriterBuffer(64)
	if err := c.Marshal(f.Context(), reply(c, echoed()), out); err != nil {
		f.Fatal(err)
	}
	b, _ := out.Bytes()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var decodes [2]bool
		for i, payload := range []int{0, len(b)} {
			m := reply(c, new(slim.ShopEchoResult))
			m.SetPayloadLen(payload)
			decodes[i] = c.Unmarshal(t.Context(), m, remote.NewReaderBuffer(b)) == nil
		}
		if decodes[0] && !decodes[1] {
			t.Error("what decodes without a length does not with one")
		}
	})
}

func TestBytesOnWhichKitexPanicsAreAnError(t *testing.T) {
	c := kitex.New()
	m := reply(c, new(slim.ShopEchoResult))
	exception := "\x80\x01\x00\x03\x00\x00\x00\x04echo\x00\x00\xcd\xcd\xcd" // whose first field is of the type 0xcd
	if err := c.Unmarshal(t.Context(), m, remote.NewReaderBuffer([]byte(exception))); err == nil {
		t.Error("no error")
	}
}

func TestACodecWithOptionsIsUsed(t *testing.T) {
	strict := kitex.New(kitex.Codec(codec.NewSet(codec.MaxContainer(1))))
	b := marshal(t, strict, echoed()) // writing has no such limit
	m := reply(strict, new(slim.ShopEchoResult))
	m.SetPayloadLen(len(b))
	if err := strict.Unmarshal(t.Context(), m, remote.NewReaderBuffer(b)); err == nil || !strings.Contains(err.Error(), "exceeds the limit") {
		t.Errorf("a list of two elements gives %v", err)
	}
}

func TestValuesOfACodecWithoutCopiesDoNotShareKitexsBuffer(t *testing.T) {
	c := kitex.New(kitex.Codec(codec.NewSet(codec.NoCopy())))
	b := marshal(t, c, echoed())
	got := new(slim.ShopEchoResult)
	m := reply(c, got)
	m.SetPayloadLen(len(b))
	if err := c.Unmarshal(t.Context(), m, remote.NewReaderBuffer(b)); err != nil {
		t.Fatal(err)
	}
	clear(b)
	if got.Success.Text != "text" || string(got.Success.Data) != "data" {
		t.Errorf("a value changed with the buffer: %q", got.Success.Text)
	}
}

func TestACodecOfAnotherProtocolIsRefused(t *testing.T) {
	c := kitex.New(kitex.Codec(codec.NewSet(codec.Use(codec.Compact))))
	err := c.Marshal(t.Context(), reply(c, echoed()), remote.NewWriterBuffer(64))
	if err == nil || !strings.Contains(err.Error(), "binary protocol") {
		t.Errorf("the compact protocol gives %v", err)
	}
}
