package harness

import (
	"fmt"
	"io"
	"regexp"
	"time"
)

// Report is everything a run of a suite found.
type Report struct {
	Suite   string        `json:"suite"`
	Date    string        `json:"date"`
	Command string        `json:"command"`
	Short   bool          `json:"short"`
	Machine Machine       `json:"machine"`
	Compile []Compile     `json:"compile,omitempty"`
	Groups  []GroupReport `json:"groups"`
	Figures []Figure      `json:"figures,omitempty"`
	Marks   []Mark        `json:"marks,omitempty"`
}

// GroupReport is what one group found.
type GroupReport struct {
	Work     string   `json:"work"`
	Shape    string   `json:"shape"`
	Parallel bool     `json:"parallel"`
	Bytes    int      `json:"bytes"`
	Results  []Result `json:"results"`
	Ratios   []Ratio  `json:"ratios"`
}

// Options of a run.
type Options struct {
	Short   bool
	Memory  bool
	Match   *regexp.Regexp // nil for all cases
	Command string         // what the user typed, for the report
	// Profiles is a directory for CPU profiles of contestants that are processes; "" for none.
	Profiles string
	// Timing overrides what Short chooses if its Rounds are not 0.
	Timing Timing
}

// shortTotal is what all slices of a short run take together. It leaves room
// for checks, warm-up and collections below the 50 seconds that are promised.
const shortTotal = 32 * time.Second

// Run runs the suite, prints lines to out as they are found, and returns the
// whole.
func (s *Suite) Run(out io.Writer, o Options) (*Report, error) {
	report := &Report{
		Suite: s.Name, Date: time.Now().UTC().Format(time.DateOnly), Command: o.Command,
		Short: o.Short, Machine: ThisMachine(),
	}
	m := report.Machine
	fmt.Fprintf(out, "MACHINE %s, %d cores, %s/%s, %s\n", m.CPU, m.Cores, m.GOOS, m.GOARCH, m.Go)
	if s.Drive != nil {
		return report, s.Drive(out, o, report)
	}
	// Compile times come first: a type is compiled once, at its first use.
	if s.Compile != nil && o.Match == nil {
		var err error
		if report.Compile, err = s.Compile(); err != nil {
			return nil, err
		}
		for _, c := range report.Compile {
			c.Shape = s.Name + "/" + c.Shape
			fmt.Fprintln(out, c)
		}
	}
	groups, err := s.selected(o.Match)
	if err != nil {
		return nil, err
	}
	timing := o.timing(groups, shortTotal-s.AlsoTime)
	for _, g := range groups {
		results, err := g.Measure(timing)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Case(s.Name, ""), err)
		}
		gr := GroupReport{
			Work: g.Work, Shape: g.Shape, Parallel: g.Parallel, Bytes: g.Bytes,
			Results: results, Ratios: g.Ratios(s.Name, results),
		}
		gr.print(out, g.Case(s.Name, ""))
		report.Groups = append(report.Groups, gr)
	}
	if s.Marks != nil {
		report.Mark(out, o, s.Marks(report))
	}
	report.note(out)
	if s.Also != nil {
		if err := s.Also(out, o, report); err != nil {
			return nil, err
		}
	}
	if len(report.Groups) == 0 {
		return nil, fmt.Errorf("suite %s: no case matches", s.Name)
	}
	return report, nil
}

// Mark prints all targets, of a run of single cases those that it measured, and keeps them.
func (r *Report) Mark(out io.Writer, o Options, marks []Mark) {
	for _, m := range marks {
		if m.Measured || o.Match == nil {
			fmt.Fprintln(out, m)
			r.Marks = append(r.Marks, m)
		}
	}
}

// note tells how far the results can be trusted if the machine was busy.
func (r *Report) note(out io.Writer) {
	all, disturbed := 0, 0
	for _, g := range r.Groups {
		for i := range g.Results {
			all++
			if g.Results[i].Disturbed() {
				disturbed++
			}
		}
	}
	if disturbed > 0 {
		fmt.Fprintf(out, "NOTE other processes disturbed %d of %d results: repeat this on a quiet machine\n", disturbed, all)
	}
}

func (s *Suite) selected(match *regexp.Regexp) ([]Group, error) {
	all, err := s.Groups()
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, g := range all {
		if g, ok := g.Select(s.Name, match); ok {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// timing divides the total time of a short run among all contestants. Slices are short and
// many, so that some end before another process takes the processor away, and
// still long enough to hold their share of collections.
func (o *Options) timing(groups []Group, total time.Duration) Timing {
	t := o.Timing
	if t.Rounds == 0 {
		t = Timing{Rounds: 101, Slice: 8 * time.Millisecond}
		if o.Short {
			contestants := 0
			for _, g := range groups {
				contestants += len(g.Contestants)
			}
			// Two more rounds stand for the warm-up.
			t.Rounds = 25
			t.Slice = min(t.Slice, total/time.Duration((t.Rounds+2)*max(contestants, 1)))
		}
	}
	t.Memory = o.Memory
	return t
}

func (g *GroupReport) print(out io.Writer, name string) {
	for _, r := range g.Results {
		fmt.Fprintf(out, "TIME %s %s ns=%s cpu=%s gbps=%.2f", name, r.Name, nanos(r.NS), nanos(r.CPU), r.GBps)
		if r.Memory != nil {
			fmt.Fprintf(out, " allocs=%.2f bytes=%.0f", r.Memory.Allocs, r.Memory.Bytes)
		}
		fmt.Fprintln(out)
	}
	for _, r := range g.Ratios {
		fmt.Fprintln(out, r)
	}
}
