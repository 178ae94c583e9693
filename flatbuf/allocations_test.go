//go:build !race

package flatbuf_test

import "testing"

// allocations returns how many allocations one run of f makes.
func allocations(f func()) float64 { return testing.AllocsPerRun(100, f) }
