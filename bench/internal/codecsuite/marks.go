package codecsuite

import (
	"cmp"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the targets of machine code and reads how near a run came.

// target is the least that a peer's time, or memory, divided by ours may be.
type target struct {
	work, shape, mode, peer string
	parallel                bool
	least                   float64
}

// targets has them in the order of the report.
func targets() []target {
	var all []target
	add := func(work, mode, peer string, parallel bool, least map[string]float64) {
		for _, s := range table() {
			if bound := least[s.name]; bound > 0 {
				all = append(all, target{work, s.name, mode, peer, parallel, bound})
			}
		}
	}
	three := func(small, medium, large float64) map[string]float64 {
		return map[string]float64{"small": small, "medium": medium, "large": large}
	}
	fast, copied := three(1, 1.2, 1.2), three(2, 2, 2)
	fast["scalars"], fast["list-i64"], copied["scalars"] = 1.5, 3, 2
	everywhere := map[string]float64{}
	for _, s := range table() {
		everywhere[s.name] = 2
	}
	delete(everywhere, "kitex-order") // which is not marshalled
	add("marshal", "", "fastcodec", false, fast)
	add("marshal", "", "frugal", false, everywhere)
	add("marshal", "", "apache", true, three(5.3, 4.2, 4))
	add("unmarshal", "copy", "fastcodec", false, copied)
	add("unmarshal", "copy", "frugal", false, three(1.7, 1.7, 1.7))
	add("unmarshal", "alias", "fastcodec", false, three(3, 3, 3))
	add("unmarshal", "arena", "fastcodec", false, three(4, 4, 4))
	add("unmarshal", "alias", "apache", true, three(12, 14, 11))
	return all
}

// what names a target, with the variant of ours.
func (t target) what(variant string) string {
	what := t.work + " " + t.shape + ", " + t.peer + " ÷ " + variant
	if t.parallel {
		what += ", parallel"
	}
	return what
}

// marks returns all targets; those that the run has no figures for are not measured.
func marks(r *harness.Report) []harness.Mark {
	var list []harness.Mark
	for _, t := range targets() {
		variant := "jit/" + string(binaryWire)
		if t.mode != "" {
			variant = t.mode + "/" + variant
		}
		ours, peer := find(r, t, variant), find(r, t, t.peer)
		m := harness.Mark{What: t.what(variant), Bound: t.least, AtLeast: true}
		if ours != nil && peer != nil && ours.NS > 0 {
			m.Figure, m.Measured = peer.NS/ours.NS, true
		}
		list = append(list, m)
	}
	large := target{work: "unmarshal", shape: "large"}
	ours, peer := find(r, large, "alias/jit/"+string(binaryWire)), find(r, large, "apache")
	allocs := harness.Mark{What: "unmarshal large, allocations of alias ÷ apache", Bound: 0.16}
	bytes := harness.Mark{What: "unmarshal large, bytes of alias ÷ apache", Bound: 0.1}
	if ours != nil && peer != nil && ours.Memory != nil {
		allocs.Figure, allocs.Measured = ours.Memory.Allocs/cmp.Or(peer.Memory.Allocs, 1), true
		bytes.Figure, bytes.Measured = ours.Memory.Bytes/cmp.Or(peer.Memory.Bytes, 1), true
	}
	return append(list, allocs, bytes)
}

// find returns what the run found for a contestant, or nil.
func find(r *harness.Report, t target, name string) *harness.Result {
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Work != t.work || g.Shape != t.shape || g.Parallel != t.parallel {
			continue
		}
		for k := range g.Results {
			if g.Results[k].Name == name {
				return &g.Results[k]
			}
		}
	}
	return nil
}
