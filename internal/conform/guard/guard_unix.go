//go:build linux || darwin

package guard

import "syscall"

func allocate(size int) (block []byte, release func(), err error) {
	page := syscall.Getpagesize()
	usable := max(1, (size+page-1)/page) * page
	all, err := protected(usable)
	if err != nil {
		return nil, nil, err
	}
	return all[:usable:usable], func() { _ = syscall.Munmap(all) }, nil
}

// protected maps usable bytes, a multiple of the page size, and one page more
// that cannot be accessed.
func protected(usable int) ([]byte, error) {
	all, err := syscall.Mmap(-1, 0, usable+syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if err := syscall.Mprotect(all[usable:], syscall.PROT_NONE); err != nil {
		_ = syscall.Munmap(all)
		return nil, err
	}
	return all, nil
}
