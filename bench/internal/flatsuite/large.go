//go:build large || vtprotobuf

package flatsuite

import "github.com/thrum-rpc/thrum/bench/internal/gen/flat"

// large returns the shapes whose code is written before it is wanted, without and with maps.
func large() (plain, maps []shape) {
	plain = []shape{
		newShape[flat.F566T, flat.PlainF566]("f566", 3644, flat.VerifierOfF566, flat.UnmarshalF566),
		newShape[flat.F1126T, flat.PlainF1126]("f1126", 7243, flat.VerifierOfF1126, flat.UnmarshalF1126),
	}
	maps = []shape{
		newShape[flat.M646T, flat.PlainM646]("m646", 6819, flat.VerifierOfM646, flat.UnmarshalM646),
		newShape[flat.M1286T, flat.PlainM1286]("m1286", 13619, flat.VerifierOfM1286, flat.UnmarshalM1286),
	}
	return plain, maps
}
