package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds Kitex's business statuses: failures of an application that
// travel in the headers of an ordinary reply.

// BizStatus is a failure with a code of the application's own. A handler that
// returns one, in any wrapping, has it sent in the headers of its reply over TTHeader and gRPC, and without Extra over tRPC; over
// other dialects it is an [*ApplicationException] with the message. A
// client gets it as it was.
type BizStatus struct {
	Code    int32 // never 0, which would be success
	Message string
	Extra   map[string]string
}

// Error renders code and message.
func (b *BizStatus) Error() string { return fmt.Sprintf("status %d: %s", b.Code, b.Message) }

// bizStatus finds a BizStatus in an error.
func bizStatus(err error) (*BizStatus, bool) {
	var b *BizStatus
	ok := errors.As(err, &b) && b != nil && b.Code != 0
	return b, ok
}

// maxBizExtra bounds the extra data of a status that a server sends, in bytes of JSON.
const maxBizExtra = 32 << 10

// pairs returns the headers that b travels in. What is long is cut or left
// out, because headers that fit into no frame are all left out.
func (b *BizStatus) pairs() []transport.Pair {
	text := b.Message
	if len(text) > maxExceptionText {
		text = strings.ToValidUTF8(text[:maxExceptionText], "")
	}
	pairs := []transport.Pair{
		{Key: ttheader.KeyBizStatus, Value: strconv.Itoa(int(b.Code))},
		{Key: ttheader.KeyBizMessage, Value: text},
	}
	if len(b.Extra) > 0 {
		if text, err := json.Marshal(b.Extra); err == nil && len(text) <= maxBizExtra {
			pairs = append(pairs, transport.Pair{Key: ttheader.KeyBizExtra, Value: string(text)})
		}
	}
	return pairs
}

// readBizStatus returns the BizStatus in the headers of a reply, nil if there is none.
func readBizStatus(strings ttheader.StringPairs) *BizStatus {
	text, ok := strings.Get(ttheader.KeyBizStatus)
	if !ok {
		return nil
	}
	code, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || code == 0 {
		return nil
	}
	b := &BizStatus{Code: int32(code)}
	if message, ok := strings.Get(ttheader.KeyBizMessage); ok {
		b.Message = string(message)
	}
	if extra, ok := strings.Get(ttheader.KeyBizExtra); ok {
		b.readExtra(extra)
	}
	return b
}

// readExtra reads the extra data of a status; what cannot be read is none.
func (b *BizStatus) readExtra(text []byte) {
	if json.Unmarshal(text, &b.Extra) != nil {
		b.Extra = nil
	}
}
