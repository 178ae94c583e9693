package thriftwire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

type envelope struct {
	t    thriftwire.MessageType
	name string
	seq  int32
}

func anyEnvelope(t *rapid.T) envelope {
	return envelope{thriftwire.MessageType(rapid.IntRange(1, 4).Draw(t, "type")), rapid.String().Draw(t, "name"), rapid.Int32().Draw(t, "seq")}
}

func opened(m thriftwire.Message, n int) (envelope, int) {
	return envelope{m.Type, string(m.Name), m.SequenceID}, n
}

func writeMessage(p *thrift.TBinaryProtocol, v envelope) error {
	return p.WriteMessageBegin(ctx, v.name, thrift.TMessageType(v.t), v.seq)
}

func readMessage(p *thrift.TBinaryProtocol) (envelope, error) {
	name, typ, seq, err := p.ReadMessageBegin(ctx)
	return envelope{thriftwire.MessageType(typ), name, seq}, err
}

func TestMessagesAgreeWithApache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agrees(t, anyEnvelope(t), same,
			func(b []byte, v envelope) []byte { return thriftwire.AppendMessage(b, v.t, v.name, v.seq) },
			func(b []byte) (envelope, int) { return opened(thriftwire.ConsumeMessage(b)) },
			writeMessage, readMessage)
	})
}

func TestNonStrictMessagesAgreeWithApache(t *testing.T) {
	lax := func(b []byte) (*thrift.TMemoryBuffer, *thrift.TBinaryProtocol) {
		strict := false
		buf := thrift.NewTMemoryBuffer()
		buf.Write(b)
		return buf, thrift.NewTBinaryProtocolConf(buf, &thrift.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := anyEnvelope(t)
		b := thriftwire.AppendNonStrictMessage(nil, v.t, v.name, v.seq)
		buf, p := lax(nil)
		if err := writeMessage(p, v); err != nil {
			t.Fatal(err)
		}
		p.Flush(ctx)
		if !bytes.Equal(b, buf.Bytes()) {
			t.Fatalf("wrote %x, Apache %x", b, buf.Bytes())
		}
		if got, n := opened(thriftwire.ConsumeNonStrictMessage(b)); got != v || n != len(b) {
			t.Fatalf("read %v of %d bytes", got, n)
		}
		_, p = lax(b)
		if got, err := readMessage(p); err != nil || got != v {
			t.Fatalf("Apache read %v, %v", got, err)
		}
		for i := range b {
			if _, n := thriftwire.ConsumeNonStrictMessage(b[:i]); n != thriftwire.ErrEOF {
				t.Fatalf("cut to %d bytes: %d", i, n)
			}
		}
		if _, n := thriftwire.ConsumeMessage(b); n != thriftwire.ErrVersion {
			t.Fatalf("strict reading of a non-strict message: %d", n)
		}
		b = thriftwire.AppendMessage(nil, v.t, v.name, v.seq)
		if _, n := thriftwire.ConsumeNonStrictMessage(b); n != thriftwire.ErrVersion {
			t.Fatalf("non-strict reading of a strict message: %d", n)
		}
	})
}

func TestMessagesRefuseWhatCannotBe(t *testing.T) {
	strict := func(b string) int { _, n := thriftwire.ConsumeMessage([]byte(b)); return n }
	lax := func(b string) int { _, n := thriftwire.ConsumeNonStrictMessage([]byte(b)); return n }
	long := strings.Repeat("n", thriftwire.MaxNameLength)
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"another version", strict("\x80\x02\x00\x01\x00\x00\x00\x00"), thriftwire.ErrVersion},
		{"HTTP", strict("POST / HTTP/1.1"), thriftwire.ErrVersion},
		{"the compact protocol", strict("\x82\x21\x00\x01m"), thriftwire.ErrVersion},
		{"message type 0", strict("\x80\x01\x00\x00\x00\x00\x00\x00"), thriftwire.ErrType},
		{"message type 5", strict("\x80\x01\x00\x05\x00\x00\x00\x00"), thriftwire.ErrType},
		{"a name of negative length", strict("\x80\x01\x00\x01\xff\xff\xff\xff"), thriftwire.ErrLength},
		{"a name over the limit, of which nothing has come", strict("\x80\x01\x00\x01\x00\x01\x00\x01"), thriftwire.ErrLength},
		{"a name at the limit", strict("\x80\x01\x00\x01\x00\x01\x00\x00" + long + "\x00\x00\x00\x07"), 12 + len(long)},
		{"non-strict: a name over the limit", lax("\x00\x01\x00\x01"), thriftwire.ErrLength},
		{"non-strict: message type 9", lax("\x00\x00\x00\x01m\x09\x00\x00\x00\x00"), thriftwire.ErrType},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d (%v), want %d", c.what, c.got, thriftwire.Error(c.got), c.want)
		}
	}
}
