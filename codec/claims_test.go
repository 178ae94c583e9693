package codec

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
)

// This file tests that containers in containers cannot claim the same bytes.

type nest struct {
	ByValue  []nest            `frugal:"1,default,list<nest>"`
	ByRef    []*nest           `frugal:"2,default,list<nest>"`
	Map      map[string]*nest  `frugal:"3,default,map<string:nest>"`
	MapOf    map[[16]byte]nest `frugal:"4,default,map<uuid:nest>"`
	Interior []map[string]nest `frugal:"5,default,list<map<string:nest>>"`
}

func TestNestedClaimsAllocateLittleTogether(t *testing.T) {
	const size, levels = 1 << 18, 300
	count := func(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }
	heads := map[string]func(b []byte, left int) []byte{
		"list of structs":  func(b []byte, left int) []byte { return count(append(field(b, 15, 1), 12), left) },
		"list of pointers": func(b []byte, left int) []byte { return count(append(field(b, 15, 2), 12), left) },
		"typed map": func(b []byte, left int) []byte {
			return append(count(append(field(b, 13, 3), 11, 12), left/5), 0, 0, 0, 0)
		},
		"generic map": func(b []byte, left int) []byte {
			return append(count(append(field(b, 13, 4), 16, 12), left/17), make([]byte, 16)...)
		},
		"list of maps": func(b []byte, left int) []byte {
			b = count(append(field(b, 15, 5), 13), left/6)
			return append(count(append(b, 11, 12), left/5), 0, 0, 0, 0)
		},
	}
	for name, head := range heads {
		var in []byte
		for range levels {
			in = head(in, size-len(in)-64)
		}
		in = append(in, bytes.Repeat([]byte{0xfe}, size-len(in))...)
		var v nest
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Unmarshal(in, &v)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: decodes", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 48*size {
			t.Errorf("%s: %d bytes allocated for %d", name, got, size)
		}
	}
}
