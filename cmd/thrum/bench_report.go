package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds what "thrum bench" shows as text, and its JSON.

// benchReport is a result with what it is about. Its JSON has stable names.
type benchReport struct {
	Address  string       `json:"address"`
	Dialect  string       `json:"dialect"`
	Protocol string       `json:"protocol"`
	Compress string       `json:"compress"`
	Started  time.Time    `json:"started"` // when measuring began
	Calls    []benchCall  `json:"calls"`
	Result   *load.Result `json:"result"`
}

// messages tells whether messages were sent, not structs of Thrift.
func (r *benchReport) messages() bool { return r.Dialect == load.TRPC.String() || r.overGRPC() }

func (r *benchReport) overGRPC() bool { return r.Dialect == load.GRPC.String() }

// title says what was measured, on one line.
func (r *benchReport) title() string {
	var names []string
	for _, c := range r.Calls {
		names = append(names, c.Method)
	}
	speech := r.Dialect + " " + r.Protocol
	if r.Compress != "none" {
		speech += " " + r.Compress
	}
	return fmt.Sprintf("%s at %s, %s", strings.Join(names, ", "), r.Address, speech)
}

// mode says how load was made, on one line.
func (r *benchReport) mode() string {
	res := r.Result
	s := count(res.Connections, "connection") + ", "
	if res.Rate == 0 {
		return s + fmt.Sprintf("%d outstanding on each, for %v", res.Depth, round(res.Elapsed))
	}
	how := "evenly"
	if res.Poisson {
		how = "as independent callers"
	}
	return s + fmt.Sprintf("%s calls per second, %s, for %v", rateText(res.Rate), how, round(res.Elapsed))
}

// print prints the table.
func (r *benchReport) print(w io.Writer) error {
	res := r.Result
	seconds := max(res.Elapsed.Seconds(), 1e-9)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", r.title(), r.mode())
	fmt.Fprintf(&b, "  replies     %s, %s per second\n", number(res.Replies), number(int64(float64(res.Replies)/seconds+0.5)))
	fmt.Fprintf(&b, "  failed      %s\n", number(res.Failed()))
	switch {
	case res.Declared > 0 && r.messages():
		fmt.Fprintf(&b, "  errors      %s calls had an error of the application for an answer\n", number(res.Declared))
	case res.Declared > 0:
		fmt.Fprintf(&b, "  exceptions  %s calls had an exception that the IDL declares for an answer\n", number(res.Declared))
	}
	fmt.Fprintf(&b, "  bytes       %s sent, %s received, from start to end\n\n", size(float64(res.BytesSent)), size(float64(res.BytesReceived)))
	r.printLatency(&b)
	r.printErrors(&b)
	r.printHints(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// printLatency prints a line of percentiles for each method.
func (r *benchReport) printLatency(b *strings.Builder) {
	res := r.Result
	if res.Latency.Count+res.Refused.Count == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "  latency\tcalls\tmin\tp50\tp75\tp90\tp99\tp99.9\tmax\t\n")
	line := func(name string, l load.Latency) {
		if l.Count == 0 {
			return
		}
		fmt.Fprintf(t, "  %s\t%s\t", name, number(l.Count))
		for _, d := range []time.Duration{l.Min, l.P50, l.P75, l.P90, l.P99, l.P999, l.Max} {
			fmt.Fprintf(t, "%s\t", latency(d))
		}
		fmt.Fprint(t, "\n")
	}
	for _, k := range res.Kinds {
		line(k.Name, k.Latency)
	}
	if len(res.Kinds) > 1 {
		line("all", res.Latency)
	}
	line("refused", res.Refused)
	line("sent late", res.Lag)
	t.Flush()
}

// printErrors prints what failed, the most frequent first.
func (r *benchReport) printErrors(b *strings.Builder) {
	res := r.Result
	if len(res.Errors) == 0 {
		return
	}
	kinds := make([]load.ErrorKind, 0, len(res.Errors))
	for k := range res.Errors {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b load.ErrorKind) int {
		return cmp.Or(cmp.Compare(res.Errors[b], res.Errors[a]), cmp.Compare(a, b))
	})
	if res.Latency.Count+res.Refused.Count > 0 {
		fmt.Fprint(b, "\n")
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", k, number(res.Errors[k]), r.errorMeaning(k))
	}
	t.Flush()
	for _, e := range res.Exceptions {
		if r.messages() {
			name := trpc.Code(e.Type).String()
			if r.overGRPC() {
				name = grpc.Code(e.Type).String()
			}
			fmt.Fprintf(b, "    code %d (%s) with %q: %s\n", e.Type, name, e.Ex, number(e.Count))
			continue
		}
		name := (&rpc.ApplicationException{Type: e.Type}).Error()
		fmt.Fprintf(b, "    type %d (%s)", e.Type, name)
		if e.Ex != "" {
			fmt.Fprintf(b, " with ex=%q", e.Ex)
		}
		fmt.Fprintf(b, ": %s\n", number(e.Count))
	}
	fmt.Fprintf(b, "  the first: %q\n", res.FirstError)
}

// errorMeaning explains a kind of failure.
func (r *benchReport) errorMeaning(k load.ErrorKind) string {
	switch k {
	case load.Timeout:
		return "no reply within --timeout"
	case load.Reset:
		return "the connection broke before the reply"
	case load.Closed:
		return "the server closed the connection before the reply"
	case load.Lost:
		return "the connection was given up for the failure of another call"
	case load.NoDial:
		return "a connection could not be made again"
	case load.Garbage:
		return "what came is no reply in this dialect"
	case load.Type:
		return "a message that is neither a reply nor an exception"
	case load.Sequence:
		return "a reply to a sequence id that no call has"
	case load.Repeated:
		return "a second reply to the same call"
	case load.Order:
		return "a reply before its turn"
	case load.Payload:
		return "a reply that differs from the first one to the same call"
	case load.Status:
		return "a status of HTTP other than 200"
	case load.Refusal:
		if r.overGRPC() {
			return "a code of gRPC that need not be the handler's"
		}
		if r.messages() {
			return "a code of tRPC: the handler has not answered"
		}
		return "a TApplicationException"
	case load.Unsent:
		return "due, but not sent: the server did not keep up with --rate"
	}
	return ""
}

// printHints says what to do about a result that is not what was wanted.
func (r *benchReport) printHints(b *strings.Builder) {
	res := r.Result
	misunderstood := res.Latency.Count == 0 && res.Errors[load.Garbage]+res.Errors[load.Closed]+res.Errors[load.Reset] > 0
	switch {
	case misunderstood && r.overGRPC():
		fmt.Fprint(b, "\nhint: the server may not speak gRPC, or want --tls\n")
	case misunderstood && r.messages():
		fmt.Fprint(b, "\nhint: the server may not speak tRPC, or want --tls\n")
	case misunderstood:
		fmt.Fprint(b, "\nhint: the server may speak another dialect, such as --dialect=unframed, another protocol, or want --tls\n")
	case res.Errors[load.Order] > 0 && res.Depth > 1:
		fmt.Fprint(b, "\nhint: the server does not keep the order of calls; --depth 1 or --dialect theader does not need it\n")
	case res.Errors[load.Unsent] > 0:
		fmt.Fprint(b, "\nhint: without --rate the run shows what the server can do; more --connections or --depth may help too\n")
	case res.Latency.Count == 0 && res.Failed() == 0:
		fmt.Fprint(b, "\nhint: no call that was sent in the measured time was answered; --duration is that time, and --depth fewer calls to wait for\n")
	case res.Lag.P99 > res.Latency.P50:
		fmt.Fprint(b, "\nhint: calls were sent late because this machine is busy; the latencies contain that\n")
	}
}

// progressText is the line that shows how far a run has come.
func progressText(p load.Progress) string {
	s := fmt.Sprintf("%3.0f s", p.Elapsed.Seconds())
	if p.Warmup {
		s += ", warming up"
	} else {
		s += fmt.Sprintf(", %s/s, p50 %s, p99 %s, max %s", number(int64(float64(p.Last.Replies)/max(p.Last.Length.Seconds(), 1e-9))),
			latency(p.Last.P50), latency(p.Last.P99), latency(p.Last.Max))
	}
	return s + fmt.Sprintf(", %s failed", number(p.Errors))
}

// number renders an integer with its thousands apart.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rateText renders a rate in whole calls, or, of a small one, as it is.
func rateText(rate float64) string {
	if rate < 100 {
		return strconv.FormatFloat(rate, 'g', 4, 64)
	}
	return number(int64(rate + 0.5))
}

// latency renders a duration with three digits.
func latency(d time.Duration) string {
	v, unit := float64(d), "ns"
	for _, larger := range []string{"µs", "ms", "s"} {
		if v < 1000 {
			break
		}
		v /= 1000
		unit = larger
	}
	switch {
	case unit == "ns" || v >= 100:
		return fmt.Sprintf("%.0f %s", v, unit)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// round leaves away what nobody wants to read of a duration.
func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
