//go:build !((linux && (amd64 || arm64)) || (darwin && amd64))

package execmem

// Supported reports whether this platform has executable memory for programs.
func Supported() bool { return false }

func load([]byte) ([]byte, error) { return nil, errUnsupported }

func unload([]byte) {}

func address([]byte) uintptr { return 0 }
