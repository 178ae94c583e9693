// Package codec breaks most rules that code can break.
package codec

import (
	"net"
	"os"
	environment "os"
	"sync"
	"sync/atomic"
	"unsafe"

	"example.com/house/engine"
	"example.com/house/wire"
	_ "example.com/house/wire"
	"example.org/chosen"
	"example.org/heavy"
	"example.org/oracle"
)

var (
	cache    sync.Map
	allowed  sync.Map
	count    atomic.Int64
	byName   = map[string]int{}
	codes    = [4]int{}
	current  state
	pointer  = &state{}
	queue    = make(chan int)
	mode     string
	constant = "never changes"
	maker    = func() *sync.Mutex { return new(sync.Mutex) }
)

var _ = register("codec")

type state struct{ depth int }

func (s *state) enter() { s.depth++ }

func (s state) read() int { return s.depth }

func init() {
	register("codec")
}

func register(name string) bool { return name == constant }

// New changes package variables in every way there is.
func New() {
	mode = os.Getenv("MODE")
	if v, ok := environment.LookupEnv("MODE"); ok {
		mode += v
	}
	byName["a"] = 1
	delete(byName, "a")
	codes[1]++
	copy(codes[:], []int{1})
	current.enter()
	current.depth = 2
	pointer.depth = 3
	wire.ErrShort = nil
	for mode = range byName {
	}
	keep(&current)
	_ = current.read()
	_, _, _, _, _ = net.Dial, unsafe.Pointer(nil), heavy.X, oracle.Y, chosen.Z
	_ = engine.Run
	_, _, _, _, _ = cache, allowed, count, queue, maker
}

func keep(*state) {}

func Undocumented() {
}

type Bare struct{}

func (*Bare) Method() {
}

func (*Bare) Accessor() {}
