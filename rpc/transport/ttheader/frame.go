package ttheader

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the layout of frames. All numbers are big-endian:
//
//	the prefix of package transport
//	u8 protocol · u8 count and u8 ids of transforms · blocks of headers · zeros
//	the payload

// Magic is the first word of a frame behind its length.
const Magic = 0x1000

// MaxHeader is the size of the largest header in bytes.
const MaxHeader = math.MaxUint16 * 4

// Flags of a frame.
const (
	OutOfOrder uint16 = 0x01 // the sender takes replies in any order
	Streaming  uint16 = 0x02
	Duplex     uint16 = 0x08
	SASL       uint16 = 0x10
)

// Protocol is the protocol of the payload.
type Protocol uint8

const (
	Binary     Protocol = 0x00
	Compact    Protocol = 0x02
	CompactV2  Protocol = 0x03
	Protobuf   Protocol = 0x04
	StreamData Protocol = 0x10 // structs of Thrift on a stream
	StreamPB   Protocol = 0x11 // messages of Protobuf on a stream
)

// IntKey names a header by a number.
type IntKey uint16

const (
	MeshVersion    IntKey = 0
	TransportType  IntKey = 1
	LogID          IntKey = 2
	FromService    IntKey = 3
	FromCluster    IntKey = 4
	FromIDC        IntKey = 5
	ToService      IntKey = 6
	ToCluster      IntKey = 7
	ToIDC          IntKey = 8
	ToMethod       IntKey = 9
	RPCTimeout     IntKey = 12 // milliseconds, in decimal digits
	WithMeshHeader IntKey = 16
	ConnectTimeout IntKey = 17 // milliseconds, in decimal digits
	MessageType    IntKey = 22
	FrameType      IntKey = 27 // of a stream: 1 meta, 2 header, 3 data, 4 trailer, 5 reset
)

// The string keys that have a meaning of their own.
const (
	KeyServiceName = "isn"   // the service's name in the IDL
	KeyRemoteIP    = "rip"   // the peer's address
	KeyClosing     = "crrst" // "1": the server is closing this connection
	KeyBizStatus   = "biz-status"
	KeyBizMessage  = "biz-message"
	KeyBizExtra    = "biz-extra" // a JSON object of strings
)

// The kinds of blocks behind the transforms.
const (
	paddingBlock = 0x00
	stringsBlock = 0x01
	intsBlock    = 0x10
	tokenBlock   = 0x11
)

// Frame is a parsed frame. All slices alias the bytes that were parsed.
type Frame struct {
	Flags      uint16
	SequenceID uint32
	Protocol   Protocol
	Transforms []byte // the ids of what was done to the payload; no peer does anything
	Strings    StringPairs
	Ints       IntPairs
	Token      []byte // of access control
	Payload    []byte
}

// Parse parses a frame, which starts with the magic number, into f. An error
// is a [*diag.Fault] with the offset in b.
func (f *Frame) Parse(b []byte) error {
	*f = Frame{}
	prefix, err := transport.ParsePrefix(b, Magic)
	if err != nil {
		return err
	}
	f.Flags, f.SequenceID = prefix.Flags, prefix.SequenceID
	f.Payload = b[prefix.End:]
	p := parser{b: b[:prefix.End], i: transport.PrefixSize}
	f.Protocol = Protocol(p.u8())
	f.Transforms = p.bytes(int(p.u8()))
	for p.skipPadding() {
		switch kind := p.u8(); kind {
		case stringsBlock:
			f.Strings.n = int(p.u16())
			f.Strings.b = p.texts(2*f.Strings.n, 0)
		case intsBlock:
			f.Ints.n = int(p.u16())
			f.Ints.b = p.texts(f.Ints.n, intSize)
		case tokenBlock:
			f.Token = p.text()
		default:
			p.i--
			p.fail(diag.InvalidHeader, fmt.Sprintf("a block of the unknown kind %#02x", kind))
		}
	}
	if p.fault != nil {
		*f = Frame{}
		return p.fault
	}
	return nil
}

// parser reads a header from the front; after a fault there is nothing more to
// read, and it yields zeros.
type parser struct {
	b     []byte
	i     int
	fault *diag.Fault
}

func (p *parser) fail(code diag.Code, detail string) {
	if p.fault == nil {
		p.fault = diag.NewFault(code, p.i, detail)
	}
	p.b, p.i = nil, 0
}

// skipPadding steps over padding, and reports whether something stands behind it.
func (p *parser) skipPadding() bool {
	i := p.i // not in memory
	for i < len(p.b) && p.b[i] == paddingBlock {
		i++
	}
	p.i = i
	return i < len(p.b)
}

func (p *parser) short() { p.fail(diag.UnexpectedEOF, "a value runs over the end of the header") }

func (p *parser) bytes(n int) []byte {
	if n > len(p.b)-p.i {
		p.short()
		return nil
	}
	p.i += n
	return p.b[p.i-n : p.i : p.i]
}

func (p *parser) u8() (v uint8) {
	if p.i < len(p.b) {
		v = p.b[p.i]
		p.i++
	} else {
		p.short()
	}
	return v
}

func (p *parser) u16() (v uint16) {
	if p.i+2 <= len(p.b) {
		v = binary.BigEndian.Uint16(p.b[p.i:])
		p.i += 2
	} else {
		p.short()
	}
	return v
}

func (p *parser) text() []byte { return p.bytes(int(p.u16())) }

// intSize is the number of bytes of a key that is a number.
const intSize = 2

// texts steps over n texts with size bytes before each, and returns the bytes of all.
func (p *parser) texts(n, size int) []byte {
	start, i := p.i, p.i
	for range n {
		at := i + size
		if at+2 <= len(p.b) {
			if i = at + 2 + int(binary.BigEndian.Uint16(p.b[at:])); i <= len(p.b) {
				continue
			}
			at += 2
		}
		p.i = min(at, len(p.b))
		p.short()
		return nil
	}
	p.i = i
	return p.b[start:i]
}

// StringPairs are headers with string keys as they stand in a frame, whose
// bytes they alias.
type StringPairs struct {
	b []byte // valid: Parse has been over it
	n int
}

// Len returns the number of pairs.
func (s StringPairs) Len() int { return s.n }

// All yields the pairs in their order. A key may stand twice; the last counts.
func (s StringPairs) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		p := parser{b: s.b}
		for range s.n {
			if !yield(p.text(), p.text()) {
				return
			}
		}
	}
}

// Get returns the value of the last pair with that key.
func (s StringPairs) Get(key string) (value []byte, ok bool) {
	for k, v := range s.All() {
		if string(k) == key {
			value, ok = v, true
		}
	}
	return value, ok
}

// IntPairs are headers with numbers as keys as they stand in a frame, whose
// bytes they alias.
type IntPairs struct {
	b []byte // valid: Parse has been over it
	n int
}

// Len returns the number of pairs.
func (s IntPairs) Len() int { return s.n }

// All yields the pairs in their order. A key may stand twice; the last counts.
func (s IntPairs) All() iter.Seq2[IntKey, []byte] {
	return func(yield func(key IntKey, value []byte) bool) {
		p := parser{b: s.b}
		for range s.n {
			if !yield(IntKey(p.u16()), p.text()) {
				return
			}
		}
	}
}

// Get returns the value of the last pair with that key.
func (s IntPairs) Get(key IntKey) (value []byte, ok bool) {
	b := s.b
	for range s.n {
		end := intSize + 2 + int(binary.BigEndian.Uint16(b[intSize:]))
		if IntKey(binary.BigEndian.Uint16(b)) == key {
			value, ok = b[intSize+2:end:end], true
		}
		b = b[end:]
	}
	return value, ok
}

// StringPair is a header to be written.
type StringPair = transport.Pair

// IntPair is a header to be written.
type IntPair struct {
	Key   IntKey
	Value string
}

// Outgoing is what the header of a frame to write says.
type Outgoing struct {
	Flags      uint16
	SequenceID uint32
	Protocol   Protocol
	Strings    []StringPair
	Ints       []IntPair
	Token      string
}

// Append appends a frame's length, which Seal sets, and its header; the
// payload goes behind. A header of more than [MaxHeader] bytes, or one with too many pairs or too
// long a text (65,535 each), is an error, and dst is returned.
func (o *Outgoing) Append(dst []byte) ([]byte, error) {
	if err := o.check(); err != nil {
		return dst, err
	}
	b := transport.AppendPrefix(dst, Magic, o.Flags, o.SequenceID)
	from := len(b)
	b = append(b, byte(o.Protocol), 0)
	if n := len(o.Strings); n > 0 {
		b = append(b, stringsBlock, byte(n>>8), byte(n))
		for _, p := range o.Strings {
			b = appendText(appendText(b, p.Key), p.Value)
		}
	}
	if n := len(o.Ints); n > 0 {
		b = append(b, intsBlock, byte(n>>8), byte(n))
		for _, p := range o.Ints {
			b = appendText(binary.BigEndian.AppendUint16(b, uint16(p.Key)), p.Value)
		}
	}
	if o.Token != "" {
		b = appendText(append(b, tokenBlock), o.Token)
	}
	b, err := transport.SealHeader(b, from, MaxHeader)
	if err != nil {
		return dst, err
	}
	return b, nil
}

// check refuses what the counts and lengths of a header cannot express.
func (o *Outgoing) check() error {
	most := max(len(o.Strings), len(o.Ints), len(o.Token))
	for _, p := range o.Strings {
		most = max(most, len(p.Key), len(p.Value))
	}
	for _, p := range o.Ints {
		most = max(most, len(p.Value))
	}
	if most > math.MaxUint16 {
		return diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("a header with a count or length of %d, more than %d", most, math.MaxUint16))
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// Seal sets the length of the frame that Append started at start of b, once
// its payload stands behind it.
func Seal(b []byte, start int) {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
}
