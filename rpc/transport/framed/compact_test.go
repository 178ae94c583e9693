package framed_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// compactMessage returns a message of the compact protocol with random arguments.
func compactMessage(t testing.TB, r *rand.Rand, name string) []byte {
	t.Helper()
	for {
		args := appendValue(nil, r, thriftwire.Struct, 4)
		d := []compact.Dialect{compact.Apache, compact.FBThrift}[r.IntN(2)]
		b := d.AppendMessage(nil, thriftwire.Call, name, r.Int32())
		if b, n := d.AppendFromBinary(b, args, thriftwire.Struct, 100); n == len(args) {
			return b // else it holds a type that the dialect does not have
		}
	}
}

func TestCompactMessagesAreFoundHoweverTheyAreCut(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 500 {
		var stream []byte
		var want [][]byte
		for range 1 + r.IntN(5) {
			m := compactMessage(t, r, strings.Repeat("n", r.IntN(20)))
			want = append(want, m)
			stream = append(stream, m...)
		}
		scan := framed.NewCompactScanner(limit)
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
			case scan.Want() > len(stream)-start:
				t.Fatalf("want %d bytes of %d", scan.Want(), len(stream)-start)
			default:
				end = min(end+step, len(stream))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d messages, want %d", len(got), len(want))
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("message %d is %x, want %x", i, got[i], want[i])
			}
		}
	}
}

func TestCompactStreamsThatCannotBeFollowedAreRefused(t *testing.T) {
	with := func(tail string) string {
		return string(compact.Apache.AppendMessage(nil, thriftwire.Call, "m", 1)) + tail
	}
	for name, c := range map[string]struct {
		bytes string
		code  diag.Code
	}{
		"another protocol":        {"\x80\x01\x00\x01", diag.InvalidHeader},
		"another version":         {"\x82\x3f\x00\x00", diag.InvalidHeader},
		"a message of no type":    {"\x82\xe1\x00\x00", diag.InvalidHeader},
		"a long name":             {"\x82\x21\x01\xff\xff\xff\x7f", diag.InvalidLength},
		"a field of no type":      {with("\x1e"), diag.InvalidType},
		"a list of no type":       {with("\x19\x1e\x00"), diag.InvalidType},
		"a map of no type":        {with("\x1b\x01\xee\x00"), diag.InvalidType},
		"a number without end":    {with("\x15\xff\xff\xff\xff\xff\xff"), diag.InvalidHeader},
		"a string of 3 GiB":       {with("\x18\xff\xff\xff\xff\x0b"), diag.InvalidLength},
		"a string that stays out": {with("\x18\xff\xff\xff\xff\x07" + strings.Repeat("x", limit)), diag.SizeLimit},
		"a list that stays out":   {with("\x19\xf5\xff\xff\xff\xff\x07" + strings.Repeat("x", limit)), diag.SizeLimit},
		"deep structs":            {with(strings.Repeat("\x1c", 1100)), diag.DepthLimit},
		"deep lists":              {with("\x19" + strings.Repeat("\x19", 1100)), diag.DepthLimit},
		"endless empty structs":   {with(strings.Repeat("\x0c\x02\x00", limit/3)), diag.SizeLimit},
		"endless bools":           {with(strings.Repeat("\x01\x02", limit/2)), diag.SizeLimit},
	} {
		_, _, err := framed.NewCompactScanner(limit).Next([]byte(c.bytes))
		var fault *diag.Fault
		if !errors.As(err, &fault) || fault.Code != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
}

// FuzzCompactScanner checks that a message ends where its struct does, and that
// it does not matter how the stream was cut.
func FuzzCompactScanner(f *testing.F) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 10 {
		f.Add(compactMessage(f, r, "seed"), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole, n, err := framed.NewCompactScanner(limit).Next(b)
		if n > len(b) || len(whole) > n {
			t.Fatalf("%d bytes of %d", n, len(b))
		}
		scan := framed.NewCompactScanner(limit)
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
		if n == 0 {
			return
		}
		m, d, at := compact.ConsumeMessage(b)
		if end := d.Skip(b[at:], thriftwire.Struct, 2000); end > 0 && at+end != n {
			t.Fatalf("%q ends at %d, the scanner says %d", m.Name, at+end, n)
		}
	})
}
