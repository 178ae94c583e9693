package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Figure is something measured that is no time per operation.
type Figure struct {
	Case   string             `json:"case"`
	Name   string             `json:"name"` // of the contestant
	Values map[string]float64 `json:"values"`
}

// String is the line that tells of f, its values by name.
func (f Figure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "FIGURE %s %s", f.Case, f.Name)
	for _, key := range slices.Sorted(maps.Keys(f.Values)) {
		fmt.Fprintf(&b, " %s=%.4g", key, f.Values[key])
	}
	return b.String()
}

// Mark is a target and how near a run came to it.
type Mark struct {
	What     string  `json:"what"`
	Figure   float64 `json:"figure"`
	Bound    float64 `json:"bound"`
	AtLeast  bool    `json:"at_least"` // Bound is the least, not the most
	Measured bool    `json:"measured"`
}

// Met tells whether the target is reached.
func (m Mark) Met() bool {
	if m.AtLeast {
		return m.Measured && m.Figure >= m.Bound
	}
	return m.Measured && m.Figure <= m.Bound
}

// String is the line that tells of m.
func (m Mark) String() string {
	relation, verdict := "<=", "missed"
	if m.AtLeast {
		relation = ">="
	}
	if m.Met() {
		verdict = "met"
	}
	if !m.Measured {
		return fmt.Sprintf("MARK %s: not measured (%s %.4g)", m.What, relation, m.Bound)
	}
	return fmt.Sprintf("MARK %s: %.4g %s %.4g %s", m.What, m.Figure, relation, m.Bound, verdict)
}
