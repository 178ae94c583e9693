//go:build linux || darwin

package guard

import (
	"bytes"
	"syscall"
	"testing"
)

func TestPutKeepsTheBytes(t *testing.T) {
	g := New(t, 10)
	for _, want := range []string{"0123456789", "", "abc"} {
		if got := g.Put([]byte(want)); !bytes.Equal(got, []byte(want)) || cap(got) != len(want) {
			t.Errorf("Put(%q) = %q with capacity %d", want, got, cap(got))
		}
	}
}

func TestTheByteAfterTheBufferIsInaccessible(t *testing.T) {
	page := syscall.Getpagesize()
	all, err := protected(page)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(all)
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(p[0])
	defer syscall.Close(p[1])
	// The kernel refuses to read what is not there, where this test could not.
	if _, err := syscall.Write(p[1], all[page-1:page]); err != nil {
		t.Errorf("the last byte: %v", err)
	}
	if _, err := syscall.Write(p[1], all[page:page+1]); err != syscall.EFAULT {
		t.Errorf("the byte after it: %v, want EFAULT", err)
	}
}
