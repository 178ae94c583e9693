package harness

import (
	"fmt"
	"strings"
)

// Ratio compares one variant of ours with one peer; above 1 ours is faster.
type Ratio struct {
	Case  string  `json:"case"`
	Peer  string  `json:"peer"`
	Ours  float64 `json:"ours_ns"`
	Other float64 `json:"peer_ns"`
	Ratio float64 `json:"ratio"`

	ours string // the name of our contestant
}

// String is the line that scripts read.
func (r Ratio) String() string {
	return fmt.Sprintf("RATIO %s %s ours=%s peer=%s ratio=%.2f", r.Case, r.Peer, nanos(r.Ours), nanos(r.Other), r.Ratio)
}

// nanos prints three digits at least, and no more than are worth reading.
func nanos(ns float64) string {
	if ns < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

// ParseRatio reads a line that String wrote. ok is false for any other line.
func ParseRatio(line string) (r Ratio, ok bool) {
	if len(strings.Fields(line)) != 6 {
		return r, false
	}
	n, err := fmt.Sscanf(line, "RATIO %s %s ours=%f peer=%f ratio=%f", &r.Case, &r.Peer, &r.Ours, &r.Other, &r.Ratio)
	return r, err == nil && n == 5
}

// Ratios pairs the results of a group as its Pairs say.
func (g *Group) Ratios(suite string, results []Result) []Ratio {
	ns := map[string]float64{}
	for _, r := range results {
		ns[r.Name] = r.NS
	}
	var ratios []Ratio
	for _, p := range g.Pairs {
		r := Ratio{Case: g.Case(suite, p.Ours), Peer: p.Label, Ours: ns[p.Ours], Other: ns[p.Peer], ours: p.Ours}
		if r.Ours > 0 {
			r.Ratio = r.Other / r.Ours
		}
		ratios = append(ratios, r)
	}
	return ratios
}
