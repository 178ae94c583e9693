package rpcsuite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func TestACallAndItsReplyAreWhatTheIDLSays(t *testing.T) {
	method, args, result := message(calls{Shape: "echo32"})
	data := payload(32)
	wantArgs := append(append([]byte{11, 0, 1, 0, 0, 0, 32}, data...), 0)
	wantResult := append(append([]byte{11, 0, 0, 0, 0, 0, 32}, data...), 0)
	if method != "echo" || !bytes.Equal(args, wantArgs) || !bytes.Equal(result, wantResult) {
		t.Errorf("%s\n% x\n% x", method, args, result)
	}
	method, args, result = message(calls{Shape: "burn", Micros: 7})
	if method != "burn" || !bytes.Equal(args, []byte{8, 0, 1, 0, 0, 0, 7, 0}) || !bytes.Equal(result, []byte{0}) {
		t.Errorf("%s\n% x\n% x", method, args, result)
	}
}

func TestFramesHoldTheMessageOfTheCall(t *testing.T) {
	for _, dialect := range []string{"framed", "ttheader"} {
		b, err := frame(dialect, calls{Shape: "noop"})
		if err != nil || int(binary.BigEndian.Uint32(b)) != len(b)-4 {
			t.Fatalf("%s: % x, %v", dialect, b, err)
		}
		b = b[4:]
		if dialect == "ttheader" {
			var f ttheader.Frame
			if err := f.Parse(b); err != nil {
				t.Fatal(err)
			}
			b = f.Payload
		}
		m, n := thriftwire.ConsumeMessage(b)
		if n < 0 || string(m.Name) != "noop" || m.Type != thriftwire.Call || !bytes.Equal(b[n:], []byte{0}) {
			t.Errorf("%s: %+v, then % x", dialect, m, b[max(n, 0):])
		}
	}
	if _, err := frame("grpc", calls{Shape: "noop"}); err == nil {
		t.Error("no error for a dialect without such frames")
	}
}

// report has ratios and figures as a run leaves them.
func report(ratios []harness.Ratio, figures []harness.Figure) *harness.Report {
	return &harness.Report{Groups: []harness.GroupReport{{Ratios: ratios}}, Figures: figures}
}

func TestMarksReadTheRatiosAndFiguresThatTheyName(t *testing.T) {
	all := marks(report([]harness.Ratio{
		{Case: "rpc/rpc-cpu/noop/c1d100/plain/framed", Peer: "kitex", Ours: 700, Other: 7000, Ratio: 10},
		{Case: "rpc/rpc-cpu/noop/c16d1/callback/framed", Peer: "floor", Ours: 5000, Other: 4000, Ratio: 0.8},
	}, []harness.Figure{
		{Case: "rpc/queue", Name: "a", Values: map[string]float64{"tasks/s": 5e6}},
		{Case: "rpc/queue", Name: "b", Values: map[string]float64{"tasks/s": 2e6}},
		{Case: "rpc/mix/c1", Name: "in-order", Values: map[string]float64{"p75-us": 900}},
		{Case: "rpc/mix/c1", Name: "out-of-order", Values: map[string]float64{"p75-us": 300}},
	}))
	want := map[string]string{
		"noop c1d100, plain, ns":                    "MARK noop c1d100, plain, ns: 700 <= 800 met",
		"noop c16d1, callback ÷ floor":              "MARK noop c16d1, callback ÷ floor: 1.25 <= 1.3 met",
		"worker queue, its slowest case, tasks/s":   "MARK worker queue, its slowest case, tasks/s: 2e+06 >= 3e+06 missed",
		"mix, p75 of noops in order ÷ out of order": "MARK mix, p75 of noops in order ÷ out of order: 3 >= 2 met",
	}
	for _, m := range all {
		if line, ok := want[m.What]; ok {
			if m.String() != line {
				t.Errorf("%s\nwant %s", m, line)
			}
			delete(want, m.What)
		} else if m.Measured {
			t.Errorf("measured from nothing: %s", m)
		}
	}
	for what := range want {
		t.Errorf("no mark %q", what)
	}
}

func TestFiguresOfTheQueueAreMediansOfTheBenchmark(t *testing.T) {
	const printed = `goos: linux
BenchmarkPoolThroughput/batch=1/producers=4-2  1000  127.1 ns/op  7000000 tasks/s  0 B/op
BenchmarkPoolThroughput/batch=1/producers=4-2  1000  127.1 ns/op  9000000 tasks/s  0 B/op
BenchmarkPoolThroughput/batch=1/producers=4-2  1000  127.1 ns/op  8000000 tasks/s  0 B/op
BenchmarkPoolThroughput/batch=10/producers=1   1000  27.1 ns/op  3.5e+07 tasks/s
BenchmarkPoolTurn  1000  27.1 ns/op  1 tasks/s
PASS
`
	got := queueFigures([]byte(printed))
	want := []queueFigure{{"batch=1/producers=4", 8e6}, {"batch=10/producers=1", 3.5e7}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheBareLoopAnswersCallsAsTheyArrive(t *testing.T) {
	var sent []byte
	for _, shape := range []string{"noop", "echo32", "noop"} {
		b, err := frame("framed", calls{Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, b...)
	}
	for cut := range len(sent) {
		b := bytes.Clone(sent)
		done, want, err := answerFrames(b[:cut])
		if err != nil || done > cut || want > len(sent) {
			t.Fatalf("of %d bytes %d are answered, %d wanted, error %v", cut, done, want, err)
		}
	}
	b := bytes.Clone(sent)
	if done, _, err := answerFrames(b); err != nil || done != len(b) {
		t.Fatalf("%d of %d bytes are answered, error %v", done, len(b), err)
	}
	m, n := thriftwire.ConsumeMessage(b[4:])
	if n < 0 || m.Type != thriftwire.Reply || string(m.Name) != "noop" {
		t.Errorf("the first reply: %+v", m)
	}
	for _, wrong := range [][]byte{bytes.Repeat([]byte{1}, 40), {0, 0, 0, 1, 0}, {0x7f, 0, 0, 0}} {
		if _, _, err := answerFrames(wrong); err == nil {
			t.Errorf("no error for % x", wrong)
		}
	}
}

func TestAMissingCompilerIsToldWithWhatToInstall(t *testing.T) {
	n := natives["floor"]
	n.command = []string{"no-such-compiler"}
	_, err := n.build(t.TempDir(), "floor")
	var missing errMissing
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install gcc") {
		t.Errorf("error %v", err)
	}
}

func TestProcessorTimeAndMemoryOfAProcessAreKnown(t *testing.T) {
	if !supported {
		t.Skip("Linux alone tells them")
	}
	burn(100)
	if d, err := processorTime(os.Getpid()); err != nil || d <= 0 {
		t.Errorf("%v, %v", d, err)
	}
	if n, err := residentBytes(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := processorTime(1 << 22); err == nil {
		t.Error("no error for a process that does not exist")
	}
}

func TestOnlyItsOwnArgumentsMakeAChild(t *testing.T) {
	for _, args := range [][]string{{}, {"-suite", "rpc"}, {"-serve"}, {"-generate", "x", "y"}} {
		if child, err := Child(args, strings.NewReader(""), nil); child || err != nil {
			t.Errorf("%v: child %v, error %v", args, child, err)
		}
	}
	if child, err := Child([]string{"-serve", "nothing"}, strings.NewReader(""), nil); !child || err == nil {
		t.Errorf("child %v, error %v", child, err)
	}
}
