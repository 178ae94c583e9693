package execmem

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func needs(t *testing.T) {
	t.Helper()
	if !Supported() {
		t.Skip("no executable memory here")
	}
}

func TestCodeIsRefusedWhereThePlatformCannotRunIt(t *testing.T) {
	if Supported() {
		t.Skip("it can")
	}
	if _, err := New([]byte{1}); err == nil {
		t.Error("New succeeded")
	}
}

func TestNoCodeIsAnError(t *testing.T) {
	if _, err := New(nil); err == nil {
		t.Error("New succeeded")
	}
}

// rights returns what the kernel says of the page at the address, such as r-xp.
func rights(t *testing.T, addr uintptr) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(maps)) {
		span, rest, _ := strings.Cut(line, " ")
		lo, hi, _ := strings.Cut(span, "-")
		if number(lo) <= addr && addr < number(hi) {
			return rest[:4]
		}
	}
	return ""
}

func number(hex string) (n uintptr) {
	for _, c := range hex {
		n = n<<4 | uintptr(strings.IndexRune("0123456789abcdef", c))
	}
	return n
}

// TestInvariant1 shows that code can be executed and not written.
func TestInvariant1(t *testing.T) {
	needs(t)
	c, err := New([]byte{0xc3})
	if err != nil {
		t.Fatal(err)
	}
	if got := rights(t, c.Addr()); got != "r-xp" {
		t.Errorf("the page has the rights %q", got)
	}
	if c.Size() != 1 || c.Mapped() != syscall.Getpagesize() {
		t.Errorf("a byte of code has size %d in %d mapped bytes", c.Size(), c.Mapped())
	}
	runtime.KeepAlive(c)
}

// TestInvariant2 shows that pages go when their code is collected, and not before.
func TestInvariant2(t *testing.T) {
	needs(t)
	c, err := New([]byte{0xc3})
	if err != nil {
		t.Fatal(err)
	}
	addr := c.Addr()
	runtime.GC()
	runtime.GC()
	if rights(t, addr) != "r-xp" {
		t.Fatal("the pages of reachable code are gone")
	}
	runtime.KeepAlive(c)
	for limit := time.Now().Add(30 * time.Second); rights(t, addr) == "r-xp"; {
		if time.Now().After(limit) {
			t.Fatal("the pages are still there")
		}
		runtime.GC()
		runtime.Gosched()
	}
}

// TestInvariant3 shows that what can be executed is what was given.
func TestInvariant3(t *testing.T) {
	needs(t)
	code := make([]byte, 3*syscall.Getpagesize()/2)
	for i := range code {
		code[i] = byte(i * i >> 4)
	}
	c, err := New(code)
	if err != nil {
		t.Fatal(err)
	}
	got := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(c.pages))), c.Size())
	if string(got) != string(code) {
		t.Error("the code differs")
	}
	runtime.KeepAlive(c)
}
