package grpc

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds header fields: the media type, timeouts, messages of
// statuses, and metadata in binary.

// ContentType is the media type of requests and answers.
const ContentType = "application/grpc"

// ParseContentType returns the subtype in a media type of gRPC, in lower case: "" in
// application/grpc, "proto" in application/grpc+proto. It reports false for other media types.
func ParseContentType(text string) (subtype string, ok bool) {
	if len(text) < len(ContentType) || !strings.EqualFold(text[:len(ContentType)], ContentType) {
		return "", false
	}
	rest, _, _ := strings.Cut(text[len(ContentType):], ";")
	rest = strings.TrimRight(rest, " \t")
	if rest == "" {
		return "", true
	}
	if rest[0] != '+' || len(rest) == 1 {
		return "", false
	}
	return strings.ToLower(rest[1:]), true
}

// maxTimeoutDigits is how many digits a timeout may have.
const maxTimeoutDigits = 8

var timeoutUnits = [...]struct {
	name byte
	unit time.Duration
}{{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour}}

// ParseTimeout reads the field grpc-timeout. What exceeds a time.Duration is the largest one.
func ParseTimeout(text string) (time.Duration, error) {
	broken := diag.NewFault(diag.InvalidHeader, -1, "grpc-timeout is "+strconv.Quote(text[:min(len(text), 32)]))
	if len(text) < 2 || len(text) > maxTimeoutDigits+1 {
		return 0, broken
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil || text[0] == '+' {
		return 0, broken
	}
	for _, u := range timeoutUnits {
		if u.name == text[len(text)-1] {
			if n > uint64(math.MaxInt64/u.unit) {
				return math.MaxInt64, nil
			}
			return time.Duration(n) * u.unit, nil
		}
	}
	return 0, broken
}

// FormatTimeout returns the field grpc-timeout for d, rounded up to what eight
// digits can say. What has passed is the shortest time there is.
func FormatTimeout(d time.Duration) string {
	if d <= 0 {
		return "1n"
	}
	for _, u := range timeoutUnits {
		n := int64(d / u.unit)
		if d%u.unit > 0 {
			n++
		}
		if n < 1e8 {
			return strconv.FormatInt(n, 10) + string(u.name)
		}
	}
	return "99999999H" // more than eleven thousand years, which a time.Duration does not hold
}

const upperHex = "0123456789ABCDEF"

// EncodeMessage returns a text as the field grpc-message has it: what is not
// printable ASCII, and "%", by its bytes in percent encoding.
func EncodeMessage(text string) string {
	plain := 0
	for plain < len(text) && isPlain(text[plain]) {
		plain++
	}
	if plain == len(text) {
		return text
	}
	out := append(make([]byte, 0, 3*len(text)), text[:plain]...)
	for i := plain; i < len(text); i++ {
		if c := text[i]; isPlain(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

func isPlain(c byte) bool { return c >= ' ' && c <= '~' && c != '%' }

// DecodeMessage undoes EncodeMessage. What is no percent encoding stays as it is, and what
// is not UTF-8 then becomes the replacement character.
func DecodeMessage(text string) string {
	if !strings.Contains(text, "%") {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// IsBinary tells whether a field of metadata holds bytes: its name ends in "-bin",
// and its value is their base64.
func IsBinary(name string) bool {
	const suffix = "-bin"
	return len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix)
}

// EncodeBinary returns bytes as a field has them.
func EncodeBinary(value string) string { return base64.RawStdEncoding.EncodeToString([]byte(value)) }

// DecodeBinary undoes EncodeBinary, with and without padding. Of several values, which commas
// part, it returns the first.
func DecodeBinary(text string) (string, error) {
	text, _, _ = strings.Cut(text, ",")
	text = strings.TrimRight(strings.Trim(text, " \t"), "=")
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return "", diag.NewFault(diag.InvalidHeader, -1, "metadata in binary is no base64: "+err.Error())
	}
	return string(b), nil
}

// IsReserved tells whether a field, in any case, is the protocol's own and no metadata. Names that start
// with "grpc-" are reserved for what the protocol may say one day.
func IsReserved(name string) bool {
	const prefix = "grpc-"
	if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		return true
	}
	return strings.HasPrefix(name, ":")
}
