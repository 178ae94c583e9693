package codec

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds messages: an envelope with a struct behind it.

// Message is the envelope of a message.
type Message struct {
	Protocol   Protocol
	Type       thriftwire.MessageType
	Name       string // of the method
	SequenceID int32
}

func (m *Message) append(dst []byte) []byte {
	if d := m.Protocol.dialect(); d != 0 {
		return d.AppendMessage(dst, m.Type, m.Name, m.SequenceID)
	}
	return thriftwire.AppendMessage(dst, m.Type, m.Name, m.SequenceID)
}

// AppendMessage appends the envelope m and the encoding of v to dst, in the
// protocol of c, which m.Protocol need not name. On an error it returns dst as it was.
func (c *Codec[T]) AppendMessage(dst []byte, m Message, v *T) ([]byte, error) {
	if v == nil {
		return dst, errNil
	}
	m.Protocol = c.protocol
	b, err := c.c.encoder.Append(m.append(dst), mem.Of(v))
	if err != nil {
		return dst, err
	}
	return b, nil
}

// UnmarshalMessage reads an envelope in the protocol of c and fills v. It
// returns the number of bytes that both took. A message in another protocol is an error.
func (c *Codec[T]) UnmarshalMessage(b []byte, v *T) (Message, int, error) {
	m, n, err := ConsumeMessage(b)
	if err != nil {
		return Message{}, 0, err
	}
	if m.Protocol != c.protocol {
		return Message{}, 0, diag.NewFault(diag.InvalidHeader, 0, "the message is in another protocol than the codec's")
	}
	took, err := c.Unmarshal(b[n:], v)
	if err != nil {
		if f, ok := err.(*diag.Fault); ok && f.Offset >= 0 {
			f.Offset += n
		}
		return Message{}, 0, err
	}
	return m, n + took, nil
}

// ConsumeMessage reads an envelope from the front of b, in whichever protocol
// it is, and returns the number of bytes that it took. The struct behind it is in the
// same protocol. Non-strict binary messages are refused.
func ConsumeMessage(b []byte) (Message, int, error) {
	m, n := thriftwire.ConsumeMessage(b)
	p := Binary
	if n == thriftwire.ErrVersion {
		var d compact.Dialect
		m, d, n = compact.ConsumeMessage(b)
		p = Compact
		if d == compact.FBThrift {
			p = CompactFBThrift
		}
	}
	if n < 0 {
		code := diag.InvalidHeader
		if n == thriftwire.ErrEOF {
			code = diag.UnexpectedEOF
		}
		f := diag.NewFault(code, 0, "the envelope of a message cannot be read")
		f.Cause = thriftwire.Error(n)
		return Message{}, 0, f
	}
	return Message{Protocol: p, Type: m.Type, Name: string(m.Name), SequenceID: m.SequenceID}, n, nil
}
