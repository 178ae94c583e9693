//go:build !race

package codec

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/conform/guard"
)

// The race detector rightly refuses what this test does on purpose.

// TestEncodingAValueThatChangesStaysInsideTheBuffer encodes while another
// goroutine changes strings, slices, pointers and maps. Wrong bytes and errors are
// fine; a write past the buffer would hit an inaccessible page or the bytes behind it. Maps are
// exchanged for others: writing into a map that is being read ends any Go program.
func TestEncodingAValueThatChangesStaysInsideTheBuffer(t *testing.T) {
	for _, k := range []EngineKind{Interp, JIT} {
		t.Run(k.String(), func(t *testing.T) {
			if k == JIT {
				needsMachineCode(t)
			}
			staysInsideTheBuffer(t, NewSet(Engine(k)))
		})
	}
}

func staysInsideTheBuffer(t *testing.T, set *Set) {
	long := strings.Repeat("long", 500)
	big := record{Name: long, Blob: []byte(long), Names: make([]string, 300), Kids: make([]*record, 300), Flags: make([]bool, 5000),
		Deep: make([][]int32, 200), By: map[string]*record{long: {}, "b": {Name: long}}, Sums: map[int64]float64{1: 1, 2: 2, 3: 3}}
	// A header that is read while it changes has the address of one value and
	// the length of another, and no reader in Go can tell. So the short values are the
	// beginnings of the long ones, and nil, which is what encoding can tell.
	small := record{Name: long[:1], Blob: big.Blob[:4], Names: big.Names[:2], Kids: big.Kids[:2], Flags: big.Flags[:1], Deep: big.Deep[:1]}
	v := new(record)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for !stop.Load() {
			v.Name, v.Blob, v.Names, v.Kids, v.Flags, v.Deep, v.Next = big.Name, big.Blob, big.Names, big.Kids, big.Flags, big.Deep, &big
			v.By, v.Sums = big.By, big.Sums
			v.Name, v.Blob, v.Names, v.Kids, v.Flags, v.Deep, v.Next = small.Name, small.Blob, small.Names, small.Kids, small.Flags, small.Deep, nil
			v.By, v.Sums = nil, map[int64]float64{7: 7}
			v.Name, v.Blob, v.Names, v.Kids, v.Flags, v.Deep = "", nil, nil, nil, nil, nil
		}
	}()
	edge := guard.New(t, 1<<16)
	mark := []byte("untouched")
	behind := make([]byte, 1<<16)
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
		n, err := set.Size(v)
		if err != nil || n > 1<<16-len(mark) {
			continue
		}
		// A buffer that ends at an inaccessible page, and one with a mark behind it.
		if _, err := set.EncodeInto(edge.Put(make([]byte, n)), nil, v); err == nil {
			copy(behind[n:], mark)
			if _, err := set.EncodeInto(behind[:n], nil, v); err == nil && !bytes.Equal(behind[n:n+len(mark)], mark) {
				t.Fatal("bytes behind the buffer were written")
			}
		}
	}
	stop.Store(true)
	wg.Wait()
}
