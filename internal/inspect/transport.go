package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file goes over frames with headers: fbthrift's header transport and
// CloudWeGo's TTHeader.

// maxPayload bounds what a compressed payload may become, in bytes.
const maxPayload = 64 << 20

// magics has, by framing, the first word behind a frame's length.
var magics = [...]uint16{THeader: header.Magic, TTHeader: ttheader.Magic}

// hasMagic reports whether a frame, given without its length, is of that framing.
func hasMagic(frame []byte, f Framing) bool {
	return len(frame) >= 2 && binary.BigEndian.Uint16(frame) == magics[f]
}

// headed reads the inside of a frame with headers, which ends with the input.
func (k *walker) headed(p int) int {
	if k.format.Framing == TTHeader {
		return k.ttheader(p)
	}
	var f header.Frame
	if err := f.Parse(k.in[p:]); err != nil {
		return k.frameError(err, p)
	}
	k.out.line(p, k.level, fmt.Sprintf("header: sequence id %d, flags %#04x, %s", f.SequenceID, f.Flags, f.Protocol), "", "")
	k.level++
	k.pairs(p, f.Headers.All())
	k.pairs(p, f.Persistent.All())
	k.level--
	at := len(k.in) - len(f.Payload)
	protocol := Protocol(0)
	switch f.Protocol {
	case header.Binary:
		protocol = Binary
	case header.Compact:
		protocol = Compact
	}
	if len(f.Transforms) > 0 && protocol != 0 {
		return k.unpacked(at, &f, protocol)
	}
	return k.payload(at, protocol)
}

func (k *walker) ttheader(p int) int {
	var f ttheader.Frame
	if err := f.Parse(k.in[p:]); err != nil {
		return k.frameError(err, p)
	}
	k.out.line(p, k.level, fmt.Sprintf("header: sequence id %d, flags %#04x, protocol %#02x", f.SequenceID, f.Flags, uint8(f.Protocol)), "", "")
	k.level++
	for key, value := range f.Ints.All() {
		k.out.line(p, k.level, strconv.Itoa(int(key)), quote(value, k.options.MaxText), "")
	}
	k.pairs(p, f.Strings.All())
	if len(f.Token) > 0 {
		k.out.line(p, k.level, "token", count(len(f.Token), "byte"), "") // a secret
	}
	k.level--
	protocol := Protocol(0)
	switch f.Protocol {
	case ttheader.Binary:
		protocol = Binary
	case ttheader.Compact, ttheader.CompactV2:
		protocol = Compact
	}
	return k.payload(len(k.in)-len(f.Payload), protocol)
}

// pairs shows headers. They have no offsets of their own.
func (k *walker) pairs(p int, all iter.Seq2[[]byte, []byte]) {
	for key, value := range all {
		k.out.line(p, k.level, quote(key, k.options.MaxText), quote(value, k.options.MaxText), "")
	}
}

// frameError makes err, which a frame's parser found in what stands at p, the fault.
func (k *walker) frameError(err error, p int) int {
	if !errors.As(err, &k.fault) {
		return k.fail(diag.InvalidHeader, p, err.Error())
	}
	k.fault.Offset = p + max(k.fault.Offset, 0)
	return failed
}

// payload reads the message at p, which is encoded by that protocol.
func (k *walker) payload(p int, protocol Protocol) int {
	if protocol == 0 {
		k.out.line(p, k.level, "payload of another protocol", hexText(k.in[p:], k.options.MaxText), "")
		return len(k.in)
	}
	outer := k.format
	k.format = Format{protocol, Unframed, Strict}
	p = k.item(p)
	k.format = outer
	return p
}

// unpacked reads the payload of f, which stands at p, as it was before it was
// compressed. Its offsets are of another kind.
func (k *walker) unpacked(p int, f *header.Frame, protocol Protocol) int {
	var x header.Transformer
	b, err := x.Undo(nil, f, maxPayload)
	if err != nil {
		return k.frameError(err, p)
	}
	k.out.line(p, k.level, fmt.Sprintf("payload, %s: %s, decompressed %d; offsets below are in these", f.Transforms[0], count(len(f.Payload), "byte"), len(b)), "", "")
	outer := k.in
	k.in = b
	k.level++
	end := k.payload(0, protocol)
	k.level--
	k.in = outer
	switch {
	case end < 0:
		k.fault.Detail += fmt.Sprintf(", at %d of the decompressed payload", k.fault.Offset)
		k.fault.Offset = p
		return failed
	case end < len(b):
		return k.fail(diag.TrailingData, p, count(len(b)-end, "byte")+" of the decompressed payload follow its message")
	}
	return len(k.in)
}
