package framed_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

const limit = 1 << 20

// appendValue appends a random value of type t.
func appendValue(b []byte, r *rand.Rand, t thriftwire.Type, depth int) []byte {
	if n := t.FixedSize(); n > 0 {
		return append(b, make([]byte, n)...)
	}
	kind := func() thriftwire.Type {
		all := []thriftwire.Type{thriftwire.Bool, thriftwire.I16, thriftwire.I64, thriftwire.UUID, thriftwire.Float,
			thriftwire.String, thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map}
		if depth <= 0 {
			all = all[:6]
		}
		return all[r.IntN(len(all))]
	}
	size := r.IntN(4)
	switch t {
	case thriftwire.String:
		return thriftwire.AppendBytes(b, make([]byte, r.IntN(50)))
	case thriftwire.Struct:
		for i := range size {
			k := kind()
			b = appendValue(thriftwire.AppendField(b, k, int16(i)), r, k, depth-1)
		}
		return thriftwire.AppendStop(b)
	case thriftwire.Map:
		k, v := kind(), kind()
		if size == 0 {
			return thriftwire.AppendMap(b, 0, 0, 0)
		}
		b = thriftwire.AppendMap(b, k, v, size)
		for range size {
			b = appendValue(appendValue(b, r, k, depth-1), r, v, depth-1)
		}
		return b
	default:
		k := kind()
		b = thriftwire.AppendList(b, k, size)
		for range size {
			b = appendValue(b, r, k, depth-1)
		}
		return b
	}
}

// message returns a call whose args are a random struct.
func message(r *rand.Rand, name string) []byte {
	return appendValue(thriftwire.AppendMessage(nil, thriftwire.Call, name, 1), r, thriftwire.Struct, 4)
}

func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func TestMessagesAreFoundHoweverTheyAreCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, isFramed := range []bool{true, false} {
		for range 300 {
			var stream []byte
			var want [][]byte
			for range 1 + r.IntN(5) {
				m := message(r, strings.Repeat("n", r.IntN(20)))
				want = append(want, m)
				if isFramed {
					m = frame(m)
				}
				stream = append(stream, m...)
			}
			scan := framed.NewScanner(isFramed, limit)
			step := 1 + r.IntN(20)
			var got [][]byte
			for start, end := 0, 0; start < len(stream); {
				m, n, err := scan.Next(stream[start:end])
				switch {
				case err != nil:
					t.Fatal(err)
				case n > 0:
					got = append(got, m)
					start += n
				default:
					if scan.Want() > len(stream)-start {
						t.Fatalf("want %d bytes of %d", scan.Want(), len(stream)-start)
					}
					end = min(end+step, len(stream))
				}
			}
			if len(got) != len(want) {
				t.Fatalf("framed %v: %d messages, want %d", isFramed, len(got), len(want))
			}
			for i := range got {
				if !bytes.Equal(got[i], want[i]) {
					t.Fatalf("framed %v: message %d is %x, want %x", isFramed, i, got[i], want[i])
				}
			}
		}
	}
}

// A hostile peer sends a large message in small pieces. The scanner must not
// start over at each: it finds the end even when what it has seen is gone.
func TestAnUnframedMessageIsLookedAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		m := message(r, "once")
		scan := framed.NewScanner(false, limit)
		arrived := make([]byte, 0, len(m))
		for i, c := range m {
			arrived = append(arrived, c)
			_, n, err := scan.Next(arrived)
			if err != nil {
				t.Fatal(err)
			}
			if complete := i == len(m)-1; (n == len(m)) != complete {
				t.Fatalf("at byte %d of %d: n = %d", i, len(m), n)
			}
			// A header of up to six bytes may be looked at until it is whole.
			for j := range max(0, len(arrived)-8) {
				arrived[j] = 0xff
			}
		}
	}
}

func TestStreamsThatCannotBeFollowedAreRefused(t *testing.T) {
	call := thriftwire.AppendMessage(nil, thriftwire.Call, "m", 1)
	with := func(tail string) string { return string(call) + tail }
	for _, c := range []struct {
		name   string
		framed bool
		bytes  string
		code   diag.Code
	}{
		{"frame of no bytes", true, "\x00\x00\x00\x00", diag.InvalidLength},
		{"frame of negative length", true, "\xff\xff\xff\xff", diag.InvalidLength},
		{"frame beyond the limit", true, "\x00\x10\x00\x01", diag.SizeLimit},
		{"frame of two gigabytes", true, "\x7f\xff\xff\xff", diag.SizeLimit},
		{"another protocol", false, "GET /", diag.InvalidHeader},
		{"negative name", false, "\x80\x01\x00\x01\xff\xff\xff\xff", diag.InvalidLength},
		{"long name", false, "\x80\x01\x00\x01\x00\x0f\x00\x00", diag.InvalidLength},
		{"unknown field type", false, with("\x01\x00\x01"), diag.InvalidType},
		{"negative string", false, with("\x0b\x00\x01\xff\xff\xff\xff"), diag.InvalidLength},
		{"huge string", false, with("\x0b\x00\x01\x7f\xff\xff\xff"), diag.SizeLimit},
		{"string just beyond the limit", false, with("\x0b\x00\x01\x00\x10\x00\x00"), diag.SizeLimit},
		{"negative list", false, with("\x0f\x00\x01\x08\x80\x00\x00\x00"), diag.InvalidLength},
		{"huge list of numbers", false, with("\x0f\x00\x01\x0a\x7f\xff\xff\xff"), diag.SizeLimit},
		{"huge list of structs", false, with("\x0f\x00\x01\x0c\x7f\xff\xff\xff"), diag.SizeLimit},
		{"list of unknown type", false, with("\x0f\x00\x01\x01\x00\x00\x00\x01"), diag.InvalidType},
		{"negative map", false, with("\x0d\x00\x01\x08\x08\xff\xff\xff\xff"), diag.InvalidLength},
		{"huge map", false, with("\x0d\x00\x01\x0b\x0b\x7f\xff\xff\xff"), diag.SizeLimit},
		{"map of unknown key type", false, with("\x0d\x00\x01\x05\x08\x00\x00\x00\x01"), diag.InvalidType},
		{"deep structs", false, with(strings.Repeat("\x0c\x00\x01", 1100)), diag.DepthLimit},
		{"deep lists", false, with("\x0f\x00\x01" + strings.Repeat("\x0f\x00\x00\x00\x01", 1100)), diag.DepthLimit},
		{"endless empty structs", false, with(strings.Repeat("\x0c\x00\x01\x00", limit/4)), diag.SizeLimit},
		{"endless empty lists", false, with(strings.Repeat("\x0f\x00\x01\x00\x00\x00\x00\x00", limit/8)), diag.SizeLimit},
		{"endless fields", false, with(strings.Repeat("\x02\x00\x01\x00", limit/4)), diag.SizeLimit},
	} {
		_, _, err := framed.NewScanner(c.framed, limit).Next([]byte(c.bytes))
		var fault *diag.Fault
		if !errors.As(err, &fault) || fault.Code != c.code {
			t.Errorf("%s: %v, want %v", c.name, err, c.code)
		}
	}
}

// FuzzScanner checks that an unframed message ends where its struct does, and
// that it does not matter how the stream was cut.
func FuzzScanner(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		f.Add(message(r, "seed"), uint8(1))
		f.Add(frame(message(r, "seed")), uint8(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		for _, isFramed := range []bool{true, false} {
			whole, n, err := framed.NewScanner(isFramed, limit).Next(b)
			if n > len(b) || len(whole) > n {
				t.Fatalf("%d bytes of %d", n, len(b))
			}
			scan := framed.NewScanner(isFramed, limit)
			for end := 0; ; end = min(end+1+int(step), len(b)) {
				_, k, cutErr := scan.Next(b[:end])
				if cutErr != nil || k != 0 {
					if k != n || (cutErr == nil) != (err == nil) {
						t.Fatalf("whole: %d, %v; cut: %d, %v", n, err, k, cutErr)
					}
					break
				}
				if end == len(b) {
					if n != 0 || err != nil {
						t.Fatalf("whole: %d, %v; cut: nothing", n, err)
					}
					break
				}
			}
			if isFramed || n == 0 {
				continue
			}
			m, at := thriftwire.ConsumeMessage(b)
			if at == thriftwire.ErrType { // a message type that does not exist is the server's to refuse
				continue
			}
			if end := thriftwire.Skip(b[at:], thriftwire.Struct, 2000); at+end != n {
				t.Fatalf("%q ends at %d, the scanner says %d", m.Name, at+end, n)
			}
		}
	})
}

func TestAMessageMayBeAsLongAsTheLimitAndNoLonger(t *testing.T) {
	message := thriftwire.AppendStop(thriftwire.AppendMessage(nil, thriftwire.Call, "ping", 1))
	for limit := len(message) - 2; limit <= len(message)+1; limit++ {
		for _, inFrame := range []bool{false, true} {
			in := message
			if inFrame {
				in = append(thriftwire.AppendI32(nil, int32(len(message))), message...)
			}
			_, n, err := framed.NewScanner(inFrame, limit).Next(in)
			if fits := limit >= len(message); fits != (err == nil && n == len(in)) || !fits && err == nil {
				t.Errorf("limit %d, framed %v: a message of %d bytes gives %d, %v", limit, inFrame, len(message), n, err)
			}
		}
	}
}
