package compact

import "github.com/thrum-rpc/thrum/wire/thriftwire"

// This file holds the envelope of messages: name, type and sequence id.

// protocolID is the first byte of every message.
const protocolID = 0x82

// AppendMessage appends the envelope of a message; the args or result struct
// follows it. A name longer than thriftwire.MaxNameLength is refused by readers.
func (d Dialect) AppendMessage(b []byte, t thriftwire.MessageType, name string, seq int32) []byte {
	b = append(b, protocolID, byte(d)|byte(t)<<5)
	return AppendString(appendVarint(b, uint64(uint32(seq))), name)
}

// ConsumeMessage reads the envelope of a message in either dialect. Anything
// else is thriftwire.ErrVersion; a message type that does not exist is
// ErrType, a name longer than MaxNameLength ErrLength.
func ConsumeMessage(b []byte) (m thriftwire.Message, d Dialect, n int) {
	if len(b) < 1 {
		return m, 0, thriftwire.ErrEOF
	}
	if b[0] != protocolID {
		return m, 0, thriftwire.ErrVersion
	}
	if len(b) < 2 {
		return m, 0, thriftwire.ErrEOF
	}
	d = Dialect(b[1] & 31)
	if !d.Valid() {
		return m, 0, thriftwire.ErrVersion
	}
	t := thriftwire.MessageType(b[1] >> 5)
	if !t.Valid() {
		return m, 0, thriftwire.ErrType
	}
	seq, n := consumeVarint32(b[2:])
	if n < 0 {
		return m, 0, n
	}
	n += 2
	// The limit comes before the wait for more input, so that nobody waits for
	// two gigabytes of name.
	if l, _ := consumeLength(b[n:]); l > thriftwire.MaxNameLength {
		return m, 0, thriftwire.ErrLength
	}
	name, k := ConsumeBytes(b[n:])
	if k < 0 {
		return m, 0, k
	}
	return thriftwire.Message{Type: t, Name: name, SequenceID: int32(seq)}, d, n + k
}
