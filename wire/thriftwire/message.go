package thriftwire

import "encoding/binary"

// version1 is the first half of the strict binary protocol's first word.
const version1 = 0x8001

// MaxNameLength bounds the method name of a message that ConsumeMessage accepts, in bytes.
const MaxNameLength = 64 << 10

// Message is the envelope of a message.
type Message struct {
	Type       MessageType
	Name       []byte // aliases the input
	SequenceID int32
}

// AppendMessage appends the envelope of a strict binary message; the args or
// result struct follows it.
func AppendMessage(b []byte, t MessageType, name string, seq int32) []byte {
	b = append(b, version1>>8, version1&0xff, 0, byte(t))
	return AppendI32(AppendString(b, name), seq)
}

// ConsumeMessage reads the envelope of a strict binary message. Anything else,
// non-strict binary too, is ErrVersion; a message type that does not exist is ErrType.
func ConsumeMessage(b []byte) (Message, int) {
	if len(b) < 4 {
		return Message{}, ErrEOF
	}
	word := binary.BigEndian.Uint32(b)
	if word>>16 != version1 {
		return Message{}, ErrVersion
	}
	t := MessageType(word)
	if t < Call || t > Oneway {
		return Message{}, ErrType
	}
	name, n := ConsumeBytes(b[4:])
	if n < 0 {
		return Message{}, n
	}
	if len(name) > MaxNameLength {
		return Message{}, ErrLength
	}
	seq, m := ConsumeI32(b[4+n:])
	if m < 0 {
		return Message{}, m
	}
	return Message{Type: t, Name: name, SequenceID: seq}, 4 + n + m
}
