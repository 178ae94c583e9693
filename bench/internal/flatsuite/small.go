//go:build !large && !vtprotobuf

package flatsuite

// large returns no shapes: see missing.
func large() (plain, maps []shape) { return nil, nil }
