package rpcsuite

import (
	"encoding/binary"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the calls, as messages.

// sizes are the shapes that are echoes, with the size of what is echoed.
var sizes = map[string]int{"echo32": 32, "echo1k": 1 << 10, "echo1m": 1 << 20}

// message returns the method of a call, its arguments and the result that must
// come back.
func message(c calls) (method string, args, result []byte) {
	end := []byte{0}
	switch c.Shape {
	case "noop":
		return "noop", end, end
	case "burn":
		args = thriftwire.AppendField(nil, thriftwire.I32, 1)
		return "burn", append(thriftwire.AppendI32(args, c.Micros), 0), end
	}
	data := payload(sizes[c.Shape])
	return "echo", binaryField(1, data), binaryField(0, data)
}

// payload returns n bytes that differ from their neighbours.
func payload(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i + i>>8)
	}
	return data
}

// binaryField is a struct whose one field is binary.
func binaryField(id int16, data []byte) []byte {
	b := thriftwire.AppendField(nil, thriftwire.String, id)
	return append(thriftwire.AppendBytes(b, data), 0)
}

// frame returns a call as it stands on the wire in a dialect.
func frame(dialect string, c calls) ([]byte, error) {
	method, args, _ := message(c)
	var b []byte
	switch dialect {
	case "framed":
		b = make([]byte, 4)
	case "ttheader":
		var err error
		if b, err = (&ttheader.Outgoing{SequenceID: 1}).Append(nil); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no frames of %s", dialect)
	}
	b = append(thriftwire.AppendMessage(b, thriftwire.Call, method, 1), args...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}
