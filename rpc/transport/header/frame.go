package header

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the layout of frames:
//
//	the prefix of package transport
//	varint protocol · varint count and ids of transforms · blocks of key/value pairs · zeros
//	the payload, a message with an envelope of its own

// Magic is the first word of a frame behind its length.
const Magic = 0x0FFF

// MaxFrame is the largest length of a frame in bytes. What is larger would need
// a longer form of length, which few peers know and which is not written.
const MaxFrame = 0x3FFFFFFF

// lengthSize is the size of a frame's length, which stands before the magic number.
const lengthSize = 4

func putLength(b []byte, n int) { binary.BigEndian.PutUint32(b, uint32(n)) }

// maxHeader is the largest header that is written, in bytes: the least that a
// known peer (Apache's C++ library) accepts.
const maxHeader = 1<<16 - 4

// Flags of a frame.
const (
	OutOfOrder uint16 = 0x01 // the sender takes replies in any order
	Duplex     uint16 = 0x08 // the sender of a request takes requests too
)

// OnewaySequence is the sequence id by which fbthrift's C++ client marks a
// call that must not be answered. Other calls must not use it.
const OnewaySequence = 0xFFFFFFFF

// Protocol is the protocol of the payload.
type Protocol uint32

const (
	Binary     Protocol = 0
	JSON       Protocol = 1
	Compact    Protocol = 2
	SimpleJSON Protocol = 5
)

// String returns the protocol's name.
func (p Protocol) String() string {
	switch p {
	case Binary:
		return "binary"
	case JSON:
		return "JSON"
	case Compact:
		return "compact"
	case SimpleJSON:
		return "simple JSON"
	default:
		return fmt.Sprintf("protocol %d", uint32(p))
	}
}

// The kinds of blocks behind the transforms.
const (
	paddingBlock    = 0
	pairsBlock      = 1
	persistentBlock = 2
)

// Frame is a parsed frame. All slices alias the bytes that were parsed.
type Frame struct {
	Flags      uint16
	SequenceID uint32
	Protocol   Protocol
	Transforms []Transform // in the order in which they were applied
	Headers    Pairs       // of this message
	Persistent Pairs       // of all messages that follow on the connection
	Payload    []byte      // as it stands: transformed, if there are Transforms
}

// maxTransforms bounds the transforms of a frame. Known peers apply one, and
// each may multiply what undoing costs.
const maxTransforms = 2

// Parse parses a frame, which starts with the magic number, into f. The
// Transforms of f keep their memory. An error is a [*diag.Fault] with the
// offset in b.
func (f *Frame) Parse(b []byte) error {
	*f = Frame{Transforms: f.Transforms[:0]}
	prefix, err := transport.ParsePrefix(b, Magic)
	if err != nil {
		return err
	}
	f.Flags, f.SequenceID = prefix.Flags, prefix.SequenceID
	f.Payload = b[prefix.End:]
	p := parser{b: b[:prefix.End], i: transport.PrefixSize}
	f.Protocol = Protocol(p.varint())
	n := p.varint()
	if n > maxTransforms {
		p.fail(diag.InvalidLength, fmt.Sprintf("%d transforms", n))
	}
	for range min(n, maxTransforms) {
		f.Transforms = append(f.Transforms, Transform(p.varint()))
	}
	for p.fault == nil && p.i < prefix.End {
		switch p.varint() {
		case pairsBlock:
			f.Headers = p.pairs()
		case persistentBlock:
			f.Persistent = p.pairs()
		default: // padding, or a kind that only its writer can step over
			return p.err()
		}
	}
	return p.err()
}

// parser reads a header from the front; after a fault it yields zeros.
type parser struct {
	b     []byte
	i     int
	fault *diag.Fault
}

func (p *parser) err() error {
	if p.fault == nil {
		return nil
	}
	return p.fault
}

func (p *parser) fail(code diag.Code, detail string) {
	if p.fault == nil {
		p.fault = diag.NewFault(code, p.i, detail)
	}
}

// varint reads a number of up to 32 bits.
func (p *parser) varint() uint32 {
	u, n := binary.Uvarint(p.b[p.i:])
	switch {
	case p.fault != nil:
		return 0
	case n == 0:
		p.fail(diag.UnexpectedEOF, "a number runs over the end of the header")
		return 0
	case n < 0 || u>>32 != 0:
		p.fail(diag.InvalidHeader, "a number has more than 32 bits")
		return 0
	}
	p.i += n
	return uint32(u)
}

// pairs steps over a block of pairs and returns it.
func (p *parser) pairs() Pairs {
	n := p.varint()
	start := p.i
	for range n {
		p.text()
		p.text()
		if p.fault != nil {
			return Pairs{}
		}
	}
	return Pairs{n: int(n), b: p.b[start:p.i]}
}

func (p *parser) text() []byte {
	n := p.varint()
	if p.fault == nil && int64(n) > int64(len(p.b)-p.i) {
		p.fail(diag.UnexpectedEOF, "a text runs over the end of the header")
	}
	if p.fault != nil {
		return nil
	}
	p.i += int(n)
	return p.b[p.i-int(n) : p.i : p.i]
}

// Pairs are key/value pairs as they stand in a frame, whose bytes they alias.
type Pairs struct {
	b []byte // valid: Parse has been over it
	n int
}

// Len returns the number of pairs.
func (p Pairs) Len() int { return p.n }

// All yields the pairs in their order. A key may stand twice; the last counts.
func (p Pairs) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		q := parser{b: p.b}
		for range p.n {
			if !yield(q.text(), q.text()) {
				return
			}
		}
	}
}

// Get returns the value of the last pair with that key.
func (p Pairs) Get(key string) (value []byte, ok bool) {
	for k, v := range p.All() {
		if string(k) == key {
			value, ok = v, true
		}
	}
	return value, ok
}

// Pair is a key with its value, to be written.
type Pair = transport.Pair

// Outgoing is what the header of a frame to write says.
type Outgoing struct {
	Flags      uint16
	SequenceID uint32
	Protocol   Protocol
	Transform  Transform // None, or the only one: peers undo several in different orders
	Headers    []Pair
	Persistent []Pair
}

// Append appends a frame's length, which Seal sets, and its header; the
// payload goes behind. Pairs that do not fit into the 64 KiB that all peers
// take are an error, and dst is returned.
func (o *Outgoing) Append(dst []byte) ([]byte, error) {
	b := transport.AppendPrefix(dst, Magic, o.Flags, o.SequenceID)
	from := len(b)
	b = binary.AppendUvarint(b, uint64(o.Protocol))
	if o.Transform == None {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(append(b, 1), uint64(o.Transform))
	}
	b = appendPairs(b, pairsBlock, o.Headers) // first: Apache's libraries know no other block
	b = appendPairs(b, persistentBlock, o.Persistent)
	b, err := transport.SealHeader(b, from, maxHeader)
	if err != nil {
		return dst, err
	}
	return b, nil
}

func appendPairs(b []byte, kind byte, pairs []Pair) []byte {
	if len(pairs) == 0 {
		return b
	}
	b = binary.AppendUvarint(append(b, kind), uint64(len(pairs)))
	for _, p := range pairs {
		b = append(binary.AppendUvarint(b, uint64(len(p.Key))), p.Key...)
		b = append(binary.AppendUvarint(b, uint64(len(p.Value))), p.Value...)
	}
	return b
}
