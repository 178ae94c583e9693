//go:build !amd64

package jsonwire

// run is plainRun.
func run(b []byte, i int) (end int, ascii bool) { return plainRun(b, i) }

// copyRun copies the plain text that stands in src at from to behind dst, as far
// as that reaches and dst has room, and returns its length and whether it is ASCII.
// More of the room may be overwritten.
func copyRun(dst, src []byte, from int) (n int, ascii bool) { return plainCopyRun(dst, src, from) }

// decodeSome reads no groups: AppendUnbase64 reads them all.
func decodeSome(dst, src []byte) int { return 0 }

// encodeSome writes no groups: AppendBase64 writes them all.
func encodeSome(dst, src []byte) int { return 0 }
