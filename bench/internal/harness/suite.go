package harness

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Suite is a named list of groups, built when it is run.
type Suite struct {
	Name   string
	About  string
	Groups func() ([]Group, error)
	// Missing, unless it is nil, writes code that is neither kept nor built in, and returns the
	// build tag that compiles it; "" if nothing is missing.
	Missing func(progress io.Writer) (tag string, err error)
	// Compile measures how long ours takes to get ready per type; may be nil.
	Compile func() ([]Compile, error)
	// Marks reads from a report how near a run came to each target; may be nil.
	Marks func(*Report) []Mark
	// Drive, unless it is nil, runs the suite instead of Groups: its contestants
	// are processes. It prints what it finds to out and adds it to the report.
	Drive func(out io.Writer, o Options, report *Report) error
	// Also, unless it is nil, runs after Groups, in the same way.
	Also func(out io.Writer, o Options, report *Report) error
	// AlsoTime is what Also takes of a short run.
	AlsoTime time.Duration
}

// Group is one piece of work on one value.
type Group struct {
	Work, Shape string
	// Parallel runs every contestant on all processors at once.
	Parallel bool
	// Bytes is the size of the message, for the throughput.
	Bytes int
	// Check fails unless every contestant did the same work.
	Check func() error
	// Contestants take part; their names are unique in the group.
	Contestants []Contestant
	// Pairs says whose time is divided by whose, in the order of printing.
	Pairs []Pair
}

// Contestant is one way to do the work of a group.
type Contestant struct {
	// Name is a peer's name, or a variant of ours such as "copy/interp/binary".
	Name string
	// New makes a worker with buffers of its own. A worker does the work n
	// times; several workers run at once in a parallel group.
	New func() (Worker, error)
}

// Worker does a piece of work n times.
type Worker func(n int) error

// Pair names a variant of ours and the contestant it is compared with, which
// is printed as Label.
type Pair struct{ Ours, Peer, Label string }

// Ours is the name of our contestant where there are no variants of it. It does
// not stand in the names of cases.
const Ours = "ours"

// Case is the name that a ratio of this group starts with: suite, work, shape,
// variant, and "parallel" last.
func (g *Group) Case(suite, variant string) string {
	parts := []string{suite, g.Work, g.Shape}
	if variant != "" && variant != Ours {
		parts = append(parts, variant)
	}
	if g.Parallel {
		parts = append(parts, "parallel")
	}
	return strings.Join(parts, "/")
}

// Select keeps what a user asked for: the pairs whose ratio line (case and
// peer) matches, and the contestants that those need. A group without pairs
// keeps its contestants if its own case matches. The second result is false if
// nothing is left.
func (g Group) Select(suite string, match *regexp.Regexp) (Group, bool) {
	if match == nil {
		return g, true
	}
	needed := map[string]bool{}
	var pairs []Pair
	for _, p := range g.Pairs {
		if match.MatchString(g.Case(suite, p.Ours) + " " + p.Label) {
			pairs = append(pairs, p)
			needed[p.Ours], needed[p.Peer] = true, true
		}
	}
	if len(g.Pairs) == 0 && match.MatchString(g.Case(suite, "")) {
		return g, true
	}
	var contestants []Contestant
	for _, c := range g.Contestants {
		if needed[c.Name] {
			contestants = append(contestants, c)
		}
	}
	g.Pairs, g.Contestants = pairs, contestants
	return g, len(contestants) > 0
}

// Compile is the time that ours took to compile one type.
type Compile struct {
	Shape string  `json:"shape"`
	NS    float64 `json:"ns"`
	// Code is the number of bytes of machine code that came of it.
	Code int `json:"code,omitempty"`
}

func (c Compile) String() string {
	text := fmt.Sprintf("COMPILE %s ns=%.0f", c.Shape, c.NS)
	if c.Code > 0 {
		text += fmt.Sprintf(" code=%d", c.Code)
	}
	return text
}
