package execmem

// flush makes the instruction cache see size bytes of code at start.
//
//go:noescape
func flush(start, size uintptr)
