package load

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// This file holds the replies of HTTP/1.1: enough of it for what servers answer
// to a POST on a connection that stays open.

// maxHead is the largest head of a reply in bytes.
const maxHead = 64 << 10

var (
	errHTTP  = errors.New("the reply is not HTTP/1.1")
	errLarge = errors.New("a reply exceeds the limit")
)

// nextHTTP is next for HTTP.
func (r *replies) nextHTTP(b []byte) (rep reply, n int, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) > maxHead || !bytes.HasPrefix([]byte("HTTP/1."), b[:min(len(b), 7)]) {
			return rep, 0, errHTTP
		}
		return rep, 0, nil
	}
	head, n := b[:end+2], end+4
	status, length, chunked, err := parseHead(head)
	if err != nil {
		return rep, 0, err
	}
	if status/100 == 1 { // an interim reply
		rep, rest, err := r.nextHTTP(b[n:])
		if rest > 0 {
			rest += n
		}
		return rep, rest, err
	}
	var body []byte
	if chunked {
		size := 0
		if body, size, err = dechunk(r.scratch[:0], b[n:], r.limit); err != nil || size == 0 {
			return rep, 0, err
		}
		r.scratch = body
		n += size
	} else {
		if length > r.limit {
			return rep, 0, errLarge
		}
		if len(b)-n < length {
			return rep, 0, nil
		}
		body = b[n : n+length]
		n += length
	}
	if status != 200 {
		rep.status = status
		return rep, n, nil
	}
	rep.ex = headerValue(head, "ex")
	return rep, n, rep.envelope(body)
}

// parseHead reads the status line and what says how long the body is.
func parseHead(head []byte) (status, length int, chunked bool, err error) {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' {
		return 0, 0, false, errHTTP
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, 0, false, errHTTP
		}
		status = status*10 + int(c-'0')
	}
	if v := headerValue(head, "transfer-encoding"); v != nil {
		return status, 0, bytes.EqualFold(v, []byte("chunked")), nil
	}
	v := headerValue(head, "content-length")
	if v == nil {
		if status == 204 || status == 304 || status/100 == 1 {
			return status, 0, false, nil
		}
		return 0, 0, false, fmt.Errorf("%w: it does not say how long it is", errHTTP)
	}
	for _, c := range v {
		if c < '0' || c > '9' || length > math.MaxInt32/10-1 {
			return 0, 0, false, fmt.Errorf("%w: its length is %q", errHTTP, v)
		}
		length = length*10 + int(c-'0')
	}
	return status, length, false, nil
}

// headerValue returns the value of a header by its lower-case name, nil if there
// is none.
func headerValue(head []byte, name string) []byte {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return bytes.TrimSpace(line[len(name)+1:])
		}
	}
	return nil
}

// dechunk appends the body in chunks at the front of b to dst and returns how many
// bytes it took, 0 if it is not complete.
func dechunk(dst, b []byte, limit int) (body []byte, n int, err error) {
	for {
		line, _, ok := bytes.Cut(b[n:], []byte("\r\n"))
		if !ok {
			return dst, 0, nil
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 31)
		if err != nil {
			return dst, 0, fmt.Errorf("%w: chunk of length %q", errHTTP, digits)
		}
		n += len(line) + 2
		if size == 0 {
			break
		}
		if len(dst)+int(size) > limit {
			return dst, 0, errLarge
		}
		if len(b)-n < int(size)+2 {
			return dst, 0, nil
		}
		dst = append(dst, b[n:n+int(size)]...)
		n += int(size)
		if b[n] != '\r' || b[n+1] != '\n' {
			return dst, 0, fmt.Errorf("%w: a chunk is longer than it says", errHTTP)
		}
		n += 2
	}
	for { // trailers, up to an empty line
		line, _, ok := bytes.Cut(b[n:], []byte("\r\n"))
		if !ok {
			return dst, 0, nil
		}
		n += len(line) + 2
		if len(line) == 0 {
			return dst, n, nil
		}
	}
}
