// Package engine says what an engine is: something that runs plan programs on
// Go memory and wire bytes. It holds what engines and codec share: the
// [Binding], which fills a program's slots with operations that need runtime
// types, the options of a run, and the pool of decode memory.
//
// Engines never see reflect: codec closes over it in the functions of a Slot.
package engine

import (
	"sync"

	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// Encoder runs one type's encode and size programs. It is safe for concurrent use.
type Encoder interface {
	// Append appends the encoding of the value at v. On an error the result is
	// dst as it was. Bytes between the length of the result and its capacity
	// may have been overwritten.
	Append(dst []byte, v mem.Pointer) ([]byte, error)
	// Size returns the number of bytes that Append would append.
	Size(v mem.Pointer) (int, error)
	// Gather is Append but for strings and binaries of at least threshold bytes, whose
	// bytes it leaves where they are: it appends to cuts where they belong.
	Gather(dst []byte, cuts []Cut, v mem.Pointer, threshold int) ([]byte, []Cut, error)
}

// Cut is a place in encoded bytes where others belong.
type Cut struct {
	Offset int    // in the encoded bytes
	Data   []byte // aliases the value
}

// Decoder runs one type's decode program. It is safe for concurrent use.
type Decoder interface {
	// Decode fills the value at v from the front of b and returns the number
	// of bytes that it took. What the value needs comes from the arena, or
	// from the heap if it is nil.
	Decode(b []byte, v mem.Pointer, a *Arena) (int, error)
}

// Engine makes encoders and decoders.
type Engine interface {
	Name() string
	Encoder(encode, size *plan.Program, b *Binding, o EncodeOptions) (Encoder, error)
	Decoder(decode *plan.Program, b *Binding, o DecodeOptions) (Decoder, error)
}

// Report says what an encoder or decoder runs.
type Report struct {
	Engine   string // the name of the engine
	Declined string // why it is not the one that was asked for; empty if it is
	Pending  bool   // it may change yet: see Preparer
	Code     int    // bytes of machine code
}

// Reporter is an encoder or decoder of an engine that may hand over to another.
type Reporter interface{ Report() Report }

// Preparer is an encoder or decoder that becomes faster once it is used often.
type Preparer interface {
	// Prepare has it become that now, and waits.
	Prepare()
}

// Binding holds what a program's slots stand for.
type Binding struct{ Slots []Slot }

// Slot is one runtime type's operations; which ones are set depends on the ops that name it.
type Slot struct {
	// New allocates one zero value.
	New func() mem.Pointer
	// Slice makes the slice whose header is at p hold n zero values.
	Slice func(p mem.Pointer, n int)
	// Extend makes the slice whose header is at p hold n values, keeping those it has.
	Extend func(p mem.Pointer, n int)
	// Clear zeroes the values of the slice whose header is at p.
	Clear func(p mem.Pointer)
	// Init sets the defaults of the value at v.
	Init func(v mem.Pointer)
	// Map is for map types.
	Map *Map
	// Size is the number of bytes of one value (of an element, for slices).
	Size uintptr
}

// Map is a map type. Engines handle the shapes they know as typed maps and
// use Generic for the rest.
type Map struct {
	Key, Elem mem.Shape // ShapeOther in either: only Generic will do
	Generic   GenericMap
}

// GenericMap does through reflect what no typed view can.
type GenericMap interface {
	// Range calls yield for each entry of the map m until it returns false.
	// The addresses hold copies that are valid during the call.
	Range(m mem.Pointer, yield func(k, v mem.Pointer) bool)
	// Fill stores at p a new map with room for n entries and calls next to
	// fill each, up to n times, until it returns false. Each call gets zeroed memory.
	Fill(p mem.Pointer, n int, next func(k, v mem.Pointer) bool)
}

// EncodeOptions change how values are written.
type EncodeOptions struct {
	Compact    compact.Dialect // of the compact protocol; 0 for the binary one
	MaxDepth   int             // of structs and containers
	Sorted     bool            // map entries ordered by their encoded keys
	CheckUnion bool            // refuse unions that have not exactly one field
	CheckSet   bool            // refuse sets with equal elements
}

// DecodeOptions change how values are read.
type DecodeOptions struct {
	Compact      compact.Dialect // of the compact protocol; 0 for the binary one
	MaxDepth     int
	MaxContainer int  // elements of a list, set or map
	MaxBytes     int  // of the encoding of a value
	Alias        bool // strings and binaries point into the input
	Strict       bool // a field of another wire type than the schema's is an error
	CheckUnion   bool
	CheckSet     bool
	Pool         *Pool
}

// Pool keeps decode states between messages. What it keeps carries nothing of
// a message: unused chunk memory and cleared places. It is safe for concurrent use.
type Pool struct {
	states    sync.Pool
	chunkSize int
}

// State is what one decode works with.
type State struct {
	Chunk mem.Chunk
	// Run is the engine's own part; an engine that finds another's replaces it.
	Run any
}

// NewPool returns a pool of states with chunks of chunkSize bytes; 0 means mem.DefaultChunk.
func NewPool(chunkSize int) *Pool { return &Pool{chunkSize: chunkSize} }

// Get returns a state for one goroutine's use until Put.
func (p *Pool) Get() *State {
	if s, ok := p.states.Get().(*State); ok {
		return s
	}
	return &State{Chunk: mem.Chunk{Size: p.chunkSize}}
}

// Put gives a state back.
func (p *Pool) Put(s *State) { p.states.Put(s) }
