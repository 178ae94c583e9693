package codecsuite

import "github.com/thrum-rpc/thrum/bench/internal/harness"

// ours lists the modes of our codec, as contenders like the peers.
func ours[T any](value *T) []contender[T] { return nil }

// compileTime measures how long the codec of T takes to compile.
func compileTime[T any](shape string) (harness.Compile, error) {
	return harness.Compile{Shape: shape}, nil
}
