package codec

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// Arena holds the memory of values that were decoded into it, and uses it
// again after Release. It serves any number of types and is for one goroutine at a time.
//
// An arena never gives memory back to the collector: it grows to what the
// largest value between two releases needed. Maps whose key or element is a struct by value or a uuid
// come from the heap all the same.
type Arena struct{ a *engine.Arena }

// NewArena returns an empty arena.
func NewArena() *Arena { return &Arena{engine.NewArena()} }

// Release takes back the memory of every value that was decoded into the
// arena. Nothing that such a value refers to may be used any more, its strings
// included: they will change. What can hold pointers is cleared.
func (a *Arena) Release() { a.a.Release() }

// UnmarshalArena is Unmarshal with memory from a, which must not be released
// while v or anything it refers to is in use. With the option NoCopy strings and binaries alias
// b all the same.
func (c *Codec[T]) UnmarshalArena(b []byte, v *T, a *Arena) (int, error) {
	if v == nil || a == nil {
		return 0, errNil
	}
	return c.c.decoder.Decode(b, mem.Of(v), a.a)
}
