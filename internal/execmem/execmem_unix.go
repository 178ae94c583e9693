//go:build (linux && (amd64 || arm64)) || (darwin && amd64)

package execmem

import (
	"syscall"
	"unsafe"
)

// Supported reports whether this platform has executable memory for programs.
func Supported() bool { return true }

// load maps pages that hold code (invariants 1 and 3).
func load(code []byte) ([]byte, error) {
	page := syscall.Getpagesize()
	size := (len(code) + page - 1) / page * page
	pages, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	copy(pages, code)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		unload(pages)
		return nil, err
	}
	flush(address(pages), uintptr(size))
	return pages, nil
}

func unload(pages []byte) { _ = syscall.Munmap(pages) }

func address(pages []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(pages))) }
