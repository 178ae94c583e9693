package thriftwire

import "encoding/binary"

// This file holds the envelopes of messages: name, type and sequence id.

// version1 is the first half of the strict binary protocol's first word.
const version1 = 0x8001

// Message is the envelope of a message.
type Message struct {
	Type       MessageType
	Name       []byte // aliases the input
	SequenceID int32
}

// AppendMessage appends the envelope of a strict binary message; the args or
// result struct follows it. A name longer than MaxNameLength is refused by readers.
func AppendMessage(b []byte, t MessageType, name string, seq int32) []byte {
	b = append(b, version1>>8, version1&0xff, 0, byte(t))
	return AppendI32(AppendString(b, name), seq)
}

// ConsumeMessage reads the envelope of a strict binary message. Anything else,
// non-strict binary too, is ErrVersion; a message type that does not exist is
// ErrType, a name longer than MaxNameLength ErrLength.
func ConsumeMessage(b []byte) (Message, int) {
	if len(b) < 4 {
		return Message{}, ErrEOF
	}
	word := binary.BigEndian.Uint32(b)
	if word>>16 != version1 {
		return Message{}, ErrVersion
	}
	t := MessageType(word)
	if !t.Valid() {
		return Message{}, ErrType
	}
	name, n := consumeName(b[4:])
	if n < 0 {
		return Message{}, n
	}
	n += 4
	seq, m := ConsumeI32(b[n:])
	if m < 0 {
		return Message{}, m
	}
	return Message{Type: t, Name: name, SequenceID: seq}, n + m
}

// AppendNonStrictMessage appends the envelope that came before versions:
// name, type, sequence id. Its first word is the length of the name.
func AppendNonStrictMessage(b []byte, t MessageType, name string, seq int32) []byte {
	return AppendI32(append(AppendString(b, name), byte(t)), seq)
}

// ConsumeNonStrictMessage reads an envelope written by AppendNonStrictMessage,
// and only that: one with a version is ErrVersion. The format has nothing to
// know it by, and its first word may as well be the length of a frame, so call
// this only where a user has asked for such peers.
func ConsumeNonStrictMessage(b []byte) (Message, int) {
	if len(b) < 4 {
		return Message{}, ErrEOF
	}
	if b[0]&0x80 != 0 {
		return Message{}, ErrVersion
	}
	name, n := consumeName(b)
	if n < 0 {
		return Message{}, n
	}
	if len(b)-n < 5 {
		return Message{}, ErrEOF
	}
	t := MessageType(b[n])
	if !t.Valid() {
		return Message{}, ErrType
	}
	return Message{Type: t, Name: name, SequenceID: int32(binary.BigEndian.Uint32(b[n+1:]))}, n + 5
}

// consumeName reads a method name. It checks the limit before it asks for more
// input, so that nobody waits for two gigabytes of name.
func consumeName(b []byte) ([]byte, int) {
	if l, n := ConsumeI32(b); n > 0 && l > MaxNameLength {
		return nil, ErrLength
	}
	return ConsumeBytes(b)
}
