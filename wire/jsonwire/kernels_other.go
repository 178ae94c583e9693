//go:build !amd64

package jsonwire

// run is plainRun.
func run(b []byte, i int) (end int, ascii bool) { return plainRun(b, i) }

// copyRun copies the plain text at the front of src to dst, as far as both
// reach, and returns its length and whether it is ASCII. Bytes of dst after it
// may be overwritten.
func copyRun(dst, src []byte) (n int, ascii bool) { return plainCopyRun(dst, src) }

// decodeSome reads no groups: AppendUnbase64 reads them all.
func decodeSome(dst, src []byte) int { return 0 }

// encodeSome writes no groups: AppendBase64 writes them all.
func encodeSome(dst, src []byte) int { return 0 }
