package rpcsuite

import (
	"strings"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the targets of the suite and reads how near a run came.

// marks returns all targets; those that the run has no figures for are not measured.
func marks(r *harness.Report) []harness.Mark {
	f := found{r}
	var list []harness.Mark
	most := func(what string, figure, bound float64) {
		list = append(list, harness.Mark{What: what, Figure: figure, Bound: bound, Measured: figure > 0})
	}
	least := func(what string, figure, bound float64) {
		list = append(list, harness.Mark{What: what, Figure: figure, Bound: bound, AtLeast: true, Measured: figure > 0})
	}
	for _, load := range []string{"c1d100", "c16d100", "c64d100"} {
		callback := "noop/" + load + "/callback/"
		most("noop "+load+", callback, ns", f.ours(callback+"framed"), 300)
		least("noop "+load+", tnonblocking ÷ callback", f.ratio(callback+"framed", "tnonblocking"), 25)
		least("noop "+load+", kitex-mux ÷ callback, both TTHeader", f.ratio(callback+"ttheader", "kitex-mux"), 15)
		most("noop "+load+", plain, ns", f.ours("noop/"+load+"/plain/framed"), 800)
	}
	for _, shape := range []string{"noop", "echo32"} {
		for _, load := range []string{"c16d1", "c64d1"} {
			name := shape + "/" + load + "/callback/framed"
			what := shape + " " + load + ", "
			most(what+"callback ÷ floor", inverse(f.ratio(name, "floor")), 1.3)
			least(what+"tnonblocking ÷ callback", f.ratio(name, "tnonblocking"), 1.5)
			least(what+"kitex ÷ callback", f.ratio(name, "kitex"), 1.6)
		}
	}
	for _, form := range []string{"plain", "callback"} {
		both := "noop/c1d100/" + form + "/ttheader"
		least("both sides of a noop, c1d100, kitex-mux ÷ "+form, f.both(both, "kitex-mux"), 4)
		least("both sides of a noop, c1d100, kitex ÷ "+form, f.both(both, "kitex"), 4)
		least("both sides of a noop, c1d100, grpc ÷ "+form, f.both(both, "grpc"), 7)
	}
	most("both sides of a noop, c1d100, every comfort on ÷ none",
		f.find("rpc-both/noop/c1d100/plain/ttheader/comforts", "").Ours*inverse(f.find("rpc-both/noop/c1d100/plain/ttheader/cluster", "").Ours), 1.3)
	for _, q := range []string{"p75-us", "p90-us", "p99-us"} {
		least("mix, "+strings.TrimSuffix(q, "-us")+" of noops in order ÷ out of order",
			f.value("mix", "in-order", q)*inverse(f.value("mix", "out-of-order", q)), 2)
	}
	most("mix, p99 of noops out of order ÷ alone",
		f.value("mix", "out-of-order", "p99-us")*inverse(f.value("mix", "alone", "p99-us")), 2)
	for _, means := range []string{"peak-ewma", "hedging"} {
		most("one slow server of three, p99 with "+means+" ÷ that of a healthy fleet",
			f.value("slow-server", means, "p99-us")*inverse(f.value("slow-server", "healthy", "p99-us")), 1.5)
	}
	least("overload, goodput as a share of the peak", f.value("overload", "overloaded", "goodput"), 0.9)
	most("overload, p99 of accepted calls in queue timeouts",
		f.value("overload", "overloaded", "p99-ms")/float64(queueTimeout.Milliseconds()), 1.25)
	most("overload, processor time of a refused call ÷ of a served one", f.value("overload", "overloaded", "refused/served"), 0.2)
	least("worker queue, its slowest case, tasks/s", f.slowestQueue(), 3e6)
	most("echo of 1 MiB, bytes allocated for each", f.value("large", forms[0], "allocated"), 64<<10)
	most("echo of 1 MiB, time in user space in copies of a MiB", f.value("large", forms[0], "copies"), 1)
	most("idle connection, bytes resident at once", f.value("idle-memory", forms[0], "resident"), 6<<10)
	most("idle connection, bytes resident once garbage was collected", f.value("idle-memory", forms[0], "settled"), 6<<10)
	return list
}

func inverse(x float64) float64 {
	if x == 0 {
		return 0
	}
	return 1 / x
}

// found looks figures up in a report; what is not there is 0.
type found struct{ r *harness.Report }

func (f found) find(name, peer string) harness.Ratio {
	for _, g := range f.r.Groups {
		for _, r := range g.Ratios {
			if r.Case == "rpc/"+name && (peer == "" || r.Peer == peer) {
				return r
			}
		}
	}
	return harness.Ratio{}
}

func (f found) ours(name string) float64        { return f.find("rpc-cpu/"+name, "").Ours }
func (f found) ratio(name, peer string) float64 { return f.find("rpc-cpu/"+name, peer).Ratio }
func (f found) both(name, peer string) float64  { return f.find("rpc-both/"+name, peer).Ratio }

func (f found) value(work, name, key string) float64 {
	for _, g := range f.r.Figures {
		if (g.Case == "rpc/"+work || strings.HasPrefix(g.Case, "rpc/"+work+"/")) && g.Name == name {
			return g.Values[key]
		}
	}
	return 0
}

func (f found) slowestQueue() float64 {
	slowest := 0.0
	for _, g := range f.r.Figures {
		if rate := g.Values["tasks/s"]; g.Case == "rpc/queue" && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	return slowest
}
