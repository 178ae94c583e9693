package transport

import (
	"encoding/binary"
	"strings"
)

// This file holds the detection of the dialect that a client speaks.

// Dialect is a way of carrying Thrift messages, or something else that is
// known to arrive at ports that speak Thrift.
type Dialect uint8

const (
	Unknown         Dialect = iota
	Unframed                // binary protocol, strict, without frames
	Framed                  // binary protocol, strict, in frames with a 32-bit length
	UnframedCompact         // compact protocol without frames
	FramedCompact           // compact protocol in frames
	Header                  // fbthrift's header transport
	TTHeader                // CloudWeGo's header transport
	KitexProtobuf           // Kitex's framed Protobuf
	TRPC                    // tRPC
	HTTP                    // HTTP/1 or HTTP/2
	TLS                     // a TLS handshake
	GRPC                    // gRPC, which Detect sees as HTTP
)

var dialectNames = [...]string{"unknown protocol", "unframed binary", "framed binary", "unframed compact",
	"framed compact", "header transport", "TTHeader", "Kitex Protobuf", "tRPC", "HTTP", "TLS", "gRPC"}

// String returns a name for people, such as "framed binary".
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return dialectNames[Unknown]
}

// DetectBytes is the number of bytes that Detect needs at most.
const DetectBytes = 8

// httpStarts are the first words of HTTP requests and of the HTTP/2 preface.
const httpStarts = "GET |POST|HEAD|PUT |OPTI|DELE|PATC|PRI |HTTP"

// Detect names the dialect of a stream that starts with b. It reports false
// when b is too short to tell; DetectBytes bytes always suffice.
func Detect(b []byte) (Dialect, bool) {
	if len(b) < 4 {
		return Unknown, false
	}
	switch word := binary.BigEndian.Uint32(b); {
	case word>>16 == 0x8001:
		return Unframed, true
	case isCompact(b):
		return UnframedCompact, true
	case word>>16 == 0x0930:
		return TRPC, true
	case word>>8 == 0x160301 || word>>8 == 0x160303:
		return TLS, true
	case strings.Contains(httpStarts, string(b[:4])):
		return HTTP, true
	case word>>31 != 0:
		return Unknown, true // no length that a frame can have
	}
	if len(b) < DetectBytes {
		return Unknown, false
	}
	switch word := binary.BigEndian.Uint16(b[4:]); {
	case word == 0x8001:
		return Framed, true
	case isCompact(b[4:]):
		return FramedCompact, true
	case word == 0x0FFF:
		return Header, true
	case word == 0x1000:
		return TTHeader, true
	case word == 0x9001:
		return KitexProtobuf, true
	}
	return Unknown, true
}

// maxLooseName is the length of the longest name of a method that DetectLoose
// takes for one.
const maxLooseName = 1024

// DetectLoose tells what Detect does not know apart from noise: a stream that
// starts with b, DetectBytes at least, of the binary protocol without its version,
// which old clients speak. It returns Unframed, Framed or Unknown.
func DetectLoose(b []byte) Dialect {
	if len(b) < DetectBytes {
		return Unknown
	}
	first, second := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case 0 < second && second <= maxLooseName && uint64(first) >= 4+uint64(second)+1+4+1:
		return Framed // a frame, and in it the length of a name
	case 0 < first && first <= maxLooseName && isName(b[4:4+min(first, 4)]):
		return Unframed
	}
	return Unknown
}

// isName reports whether b could be the start of a method's name.
func isName(b []byte) bool {
	for _, c := range b {
		if c != '_' && c != '.' && c != ':' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// isCompact reports whether b starts a message of the compact protocol, of
// Apache's version 1 or fbthrift's version 2.
func isCompact(b []byte) bool {
	return b[0] == 0x82 && (b[1]&0x1f == 1 || b[1]&0x1f == 2)
}
