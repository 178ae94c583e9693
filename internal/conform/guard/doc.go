// Package guard gives tests a buffer that ends where memory ends: the byte
// after it lies on an inaccessible page, so that code which reads or writes
// past its slice, however it came to do so, stops the test at once. It is for
// tests only. Where the system has no such pages, the buffer is an ordinary
// one and only Go's own checks remain.
package guard

// TB is the part of testing.TB and rapid.T that the package needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Buffer is a block of memory with an inaccessible page after it. It must be
// used by one goroutine at a time.
type Buffer struct {
	block []byte // ends at the boundary
}

// New returns a Buffer that holds up to size bytes. It is released when the
// test ends.
func New(t TB, size int) *Buffer {
	t.Helper()
	block, release, err := allocate(size)
	if err != nil {
		t.Fatalf("guard: %v", err)
	}
	t.Cleanup(release)
	return &Buffer{block: block}
}

// Put copies b to the end of the buffer and returns the copy, whose last byte
// is the last accessible one. The next call overwrites it. Put panics if b is
// longer than the buffer.
func (g *Buffer) Put(b []byte) []byte {
	tail := g.block[len(g.block)-len(b):]
	copy(tail, b)
	return tail[:len(b):len(b)]
}
