package protowire_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/wire/protowire"
)

// BenchmarkVarint reads and writes numbers of mixed lengths.
func BenchmarkVarint(b *testing.B) {
	var numbers []uint64
	var in []byte
	for i := range 100 {
		numbers = append(numbers, 0x9e3779b97f4a7c15*uint64(i)>>(i*7%64))
		in = protowire.AppendVarint(in, numbers[i])
	}
	b.Run("consume", func(b *testing.B) {
		for b.Loop() {
			for rest := in; len(rest) > 0; {
				_, n := protowire.ConsumeVarint(rest)
				rest = rest[n:]
			}
		}
	})
	buf := make([]byte, 0, 2*len(in))
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			out := buf
			for _, u := range numbers {
				out = protowire.AppendVarint(out, u)
			}
		}
	})
}
