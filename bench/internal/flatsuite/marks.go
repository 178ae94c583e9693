package flatsuite

import (
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the targets of messages without a network, and reads how near a run came: each
// figure is that of the shape which is worst.

func marks(r *harness.Report) []harness.Mark {
	every := func(string) bool { return true }
	least := func(what, work, peer string, bound float64, of func(shape string) bool) harness.Mark {
		worst, at := 0.0, ""
		for _, g := range r.Groups {
			if g.Work != work || !of(g.Shape) {
				continue
			}
			for _, ratio := range g.Ratios {
				if ratio.Peer == peer && (at == "" || ratio.Ratio < worst) {
					worst, at = ratio.Ratio, " ("+g.Shape+")"
				}
			}
		}
		return harness.Mark{What: what + ", " + peer + " ÷ ours" + at, Figure: worst, Bound: bound, AtLeast: true, Measured: at != ""}
	}
	return []harness.Mark{
		least("build at every size", "build", "google", 2.5, every),
		least("build at every size", "build", "google-object", 4, every),
		least("marshal at every size", "marshal", "typed", 1, every),
		least("round trip at every size", "roundtrip", "protobuf", 1, every),
		least("round trip from 76 fields on", "roundtrip", "vtprotobuf", 1, func(shape string) bool { return fieldsOf(shape) >= 76 }),
		slowestVerify(r),
	}
}

// fieldsOf returns the number of fields of a shape, as its name has it.
func fieldsOf(shape string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(shape, "fm"))
	return n
}

func slowestVerify(r *harness.Report) harness.Mark {
	m := harness.Mark{What: "verify, GB/s", Bound: 1, AtLeast: true}
	for _, g := range r.Groups {
		if g.Work == "verify" && len(g.Results) > 0 && (!m.Measured || g.Results[0].GBps < m.Figure) {
			m.Figure, m.Measured = g.Results[0].GBps, true
		}
	}
	return m
}
