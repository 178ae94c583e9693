package inspect

import "github.com/thrum-rpc/thrum/wire/thriftwire"

// This file holds what a format is, and the finding of one that fits.

// Format says how a message is encoded. Its zero parts are unknown.
type Format struct {
	Protocol Protocol
	Framing  Framing
	Envelope Envelope
}

// Protocol is how values are encoded.
type Protocol uint8

const (
	Binary          Protocol = iota + 1 // Thrift's binary protocol
	Compact                             // Apache's compact protocol
	CompactFBThrift                     // fbthrift's compact protocol
	Protobuf                            // Protobuf messages, which have no envelope
	FlatBuffers                         // FlatBuffers messages of the type Options.Struct, which is needed; never guessed
)

// Framing says whether each value has its length before it.
type Framing uint8

const (
	Unframed  Framing = iota + 1
	Framed            // four bytes, big-endian; for FlatBuffers little-endian
	Delimited         // a varint; for Protobuf only
	THeader           // Framed, with the headers of fbthrift's header transport; the protocol stands in them
	TTHeader          // Framed, with the headers of CloudWeGo's TTHeader, likewise
)

// Envelope is what stands before the struct of a message. The compact protocol
// has only one, which Strict stands for.
type Envelope uint8

const (
	Bare Envelope = iota + 1 // no envelope
	Strict
	NonStrict
)

// open reports whether something about f is unknown.
func (f Format) open() bool { return f.Protocol == 0 || f.Framing == 0 || f.Envelope == 0 }

// String says in words what f is.
func (f Format) String() string {
	s := [...]string{"unknown format", "Thrift binary protocol", "Thrift compact protocol", "Thrift compact protocol of fbthrift", "Protobuf"}[f.Protocol]
	switch f.Framing {
	case THeader:
		return "Thrift header transport"
	case TTHeader:
		return "TTHeader"
	case Framed:
		s += ", framed"
	case Delimited:
		s += ", delimited"
	}
	return s
}

// messageName is what a message of this format is called.
func (f Format) messageName() string {
	switch {
	case f.Protocol != Binary:
		return "compact message"
	case f.Envelope == NonStrict:
		return "binary message without a version"
	default:
		return "binary message"
	}
}

// formats lists what is tried, the surest signs first.
var formats = [...]Format{
	{Binary, THeader, Strict}, {Binary, TTHeader, Strict},
	{Binary, Framed, Strict}, {Compact, Framed, Strict}, {Binary, Unframed, Strict}, {Compact, Unframed, Strict},
	{Binary, Framed, NonStrict}, {Binary, Unframed, NonStrict},
	{Binary, Unframed, Bare}, {Compact, Unframed, Bare}, {CompactFBThrift, Unframed, Bare},
	{Binary, Framed, Bare}, {Compact, Framed, Bare}, {CompactFBThrift, Framed, Bare},
	{Protobuf, Unframed, Bare}, {Protobuf, Delimited, Bare},
}

// fits reports whether f is what is known in want.
func (f Format) fits(want Format) bool {
	return (want.Protocol == 0 || want.Protocol == f.Protocol || f.headed() && want.Protocol != Protobuf ||
		want.Protocol == CompactFBThrift && f.Protocol == Compact && f.Envelope == Strict) &&
		(want.Framing == 0 || want.Framing == f.Framing) && (want.Envelope == 0 || want.Envelope == f.Envelope)
}

// headed reports whether frames have headers, in which the protocol stands.
func (f Format) headed() bool { return f.Framing == THeader || f.Framing == TTHeader }

// detect returns the format that data most likely has, of those that the
// options leave open, and a remark if that is a guess: only envelopes with a
// version say what they are.
func detect(data []byte, o *Options) (f Format, remark string) {
	best := attempt{rank: -1}
	for _, f := range formats {
		if !f.fits(o.Format) || o.Format != f && !signed(data, f) {
			continue
		}
		if a := try(data, f, o); a.better(best) {
			best = a
		}
		if f.Envelope == Strict && best.rank >= 0 {
			break // nothing else begins like that
		}
	}
	if best.rank < 0 { // nothing is like what was asked for: show where it differs
		f := o.Format
		f.Protocol, f.Framing, f.Envelope = max(f.Protocol, Binary), max(f.Framing, Unframed), max(f.Envelope, Bare)
		return f, "guessed, as no format fits"
	}
	switch {
	case best.format.Envelope == Strict || o.Format == best.format:
		return best.format, ""
	case best.rank == 0:
		return best.format, "guessed, as no format fits to the end"
	default:
		return best.format, "guessed"
	}
}

// attempt is what came of reading data as a format.
type attempt struct {
	format Format
	rank   int // 0 for a fault, 1 for several values up to the end, 2 for one
	fit    int // fields that the schema has, less twice those that it has not
	end    int // where the fault stands
}

func try(data []byte, f Format, o *Options) attempt {
	k := &walker{in: data, format: f, options: o, out: &printer{options: o, silent: 1}}
	a := attempt{format: f, end: len(data)}
	switch p := k.values(); {
	case p < 0:
		a.end = k.fault.Offset
	case k.first < len(data):
		a.rank = 1
	default:
		a.rank = 2
	}
	a.fit = k.known - 2*k.odd
	return a
}

// better reports whether a is a better explanation than b.
func (a attempt) better(b attempt) bool {
	switch {
	case a.rank != b.rank && (a.rank <= 0 || b.rank <= 0):
		return a.rank > b.rank
	case a.fit != b.fit:
		return a.fit > b.fit
	case a.rank != b.rank:
		return a.rank > b.rank
	default:
		return a.end > b.end
	}
}

// signed reports whether data may begin a value of format f, as far as the
// first bytes say.
func signed(data []byte, f Format) bool {
	if f.Protocol == Protobuf {
		return len(data) > 0
	}
	if f.headed() {
		return len(data) > 4 && hasMagic(data[4:], f.Framing)
	}
	if f.Framing == Framed {
		size, n := thriftwire.ConsumeI32(data)
		if n < 0 || size <= 0 {
			return false
		}
		if rest := data[n:]; f.Envelope != Strict && int(size) > len(rest) {
			return false
		}
		data = data[n:]
	}
	switch {
	case f.Envelope == Bare:
		return true
	case f.Envelope == NonStrict:
		return plainName(data)
	case f.Protocol == Binary:
		return len(data) >= 2 && data[0] == 0x80 && data[1] == 0x01
	default:
		return len(data) >= 2 && data[0] == 0x82 && data[1]&31 >= 1 && data[1]&31 <= 2
	}
}

// plainName reports whether a message without a version, and with a name that
// a method can have, begins data.
func plainName(data []byte) bool {
	m, n := thriftwire.ConsumeNonStrictMessage(data)
	if n < 0 || len(m.Name) == 0 {
		return false
	}
	for _, c := range m.Name {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
