package execmem

import (
	"errors"
	"runtime"
)

// Code is machine code in executable memory.
type Code struct {
	pages []byte
	size  int
}

// errUnsupported is what New returns on other platforms.
var errUnsupported = errors.New("execmem: no executable memory on " + runtime.GOOS + "/" + runtime.GOARCH)

// New copies code into executable memory, which is freed when the result is collected.
func New(code []byte) (*Code, error) {
	if len(code) == 0 {
		return nil, errors.New("execmem: no code")
	}
	if !Supported() {
		return nil, errUnsupported
	}
	pages, err := load(code)
	if err != nil {
		return nil, err
	}
	c := &Code{pages: pages, size: len(code)}
	runtime.AddCleanup(c, unload, pages)
	return c, nil
}

// Addr returns the address of the first instruction. It is valid while c is reachable.
func (c *Code) Addr() uintptr { return address(c.pages) }

// Size returns the number of bytes of code.
func (c *Code) Size() int { return c.size }

// Mapped returns the number of bytes of memory that the code occupies.
func (c *Code) Mapped() int { return len(c.pages) }
