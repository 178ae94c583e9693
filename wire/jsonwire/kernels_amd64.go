package jsonwire

// This file calls the assembly for amd64. What is not said to need more needs
// SSE2, which every such processor has.

// run is plainRun.
//
//go:noescape
func run(b []byte, i int) (end int, ascii bool)

// copyRun copies the plain text that stands in src at from to behind dst, as far
// as that reaches and dst has room, and returns its length and whether it is ASCII.
// More of the room may be overwritten.
//
//go:noescape
func copyRun(dst, src []byte, from int) (n int, ascii bool)

// decodeBlocks reads n characters of standard base64, sixteen at a time, as long
// as all belong to the alphabet, and returns how many it has read. It writes
// three bytes for each four, and up to four behind the last of them. n must be
// at least 16, and a multiple of 4.
//
//go:noescape
func decodeBlocks(dst, src *byte, n int) int

// encodeBlocks writes n bytes as base64, twelve at a time. n must be at least 18
// and a multiple of 3.
//
//go:noescape
func encodeBlocks(dst, src *byte, n int)

// ssse3 tells that the processor has what decodeBlocks and encodeBlocks need
// beyond SSE2.
var ssse3 = hasSSSE3()

func hasSSSE3() bool

// decodeSome reads some whole groups of four from the front of src to dst,
// which has at least three bytes for each four of src and four more, and
// returns how many characters those were.
func decodeSome(dst, src []byte) int {
	if len(src) < 16 || !ssse3 {
		return 0
	}
	return decodeBlocks(&dst[0], &src[0], len(src)&^3)
}

// encodeSome writes some whole groups of three from the front of src to dst,
// which has room for the whole of src, and returns how many bytes those were.
func encodeSome(dst, src []byte) int {
	if len(src) < 18 || !ssse3 {
		return 0
	}
	n := len(src) / 3 * 3
	encodeBlocks(&dst[0], &src[0], n)
	return n
}
