// Package disasm renders machine code as text, for people and for goldens. The
// reading is golang.org/x/arch's, which knows nothing of how we encode.
package disasm

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

// AMD64 returns code as lines of offset and instruction. What is no instruction is an
// error; the text then ends before it.
func AMD64(code []byte) (string, error) {
	return lines(code, func(rest []byte, at int) (string, int, error) {
		if bytes.HasPrefix(rest, []byte{0xc5, 0xf8, 0x77}) { // which the disassembler takes for a byte longer
			return "vzeroupper", 3, nil
		}
		if len(rest) >= 5 && rest[0] == 0xc4 && rest[1]&0x1f == 2 && rest[2]&0x86 == 0x82 && rest[3] == 0xf5 && rest[4] >= 0xc0 { // which it does not know
			name := [...]string{"pext", "pdep"}[rest[2]&1]
			return fmt.Sprintf(name+" %s, %s, %s", wide(rest[4]>>3&7, rest[1]&0x80 == 0), wide(^rest[2]>>3&7, rest[2]&0x40 == 0), wide(rest[4]&7, rest[1]&0x20 == 0)), 5, nil
		}
		inst, err := x86asm.Decode(rest, 64)
		return x86asm.IntelSyntax(inst, uint64(at), nil), inst.Len, err
	})
}

// wide returns the name of a 64-bit register.
func wide(n byte, high bool) string {
	if high {
		n += 8
	}
	return strings.ToLower((x86asm.RAX + x86asm.Reg(n)).String())
}

// ARM64 is AMD64 for arm64.
func ARM64(code []byte) (string, error) {
	return lines(code, func(rest []byte, _ int) (string, int, error) {
		inst, err := arm64asm.Decode(rest)
		if err != nil {
			return "", 0, err
		}
		return strings.ToLower(inst.String()), 4, nil
	})
}

func lines(code []byte, read func(rest []byte, at int) (string, int, error)) (string, error) {
	var out strings.Builder
	for at := 0; at < len(code); {
		text, n, err := read(code[at:], at)
		if err != nil {
			return out.String(), fmt.Errorf("disasm: %x at %#x: %w", code[at:min(at+16, len(code))], at, err)
		}
		fmt.Fprintf(&out, "%5x  %s\n", at, text)
		at += n
	}
	return out.String(), nil
}
