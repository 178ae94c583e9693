package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/thrum-rpc/thrum/transcode"
)

// This file shows how far a command that takes long has come.

// statusLine writes a line to standard error: again and again over itself on a
// terminal, a line at a time elsewhere.
type statusLine struct {
	w        io.Writer // nil to show nothing
	terminal bool
	shown    bool
}

// newStatusLine decides whether to show anything.
func newStatusLine(env *environment, always bool) statusLine {
	s := statusLine{terminal: isTerminal(env.stderr)}
	if s.terminal || always {
		s.w = env.stderr
	}
	return s
}

// show shows a line instead of the one before.
func (s *statusLine) show(line string) {
	switch {
	case s.w == nil:
		return
	case s.terminal:
		fmt.Fprintf(s.w, "\r\x1b[K%s", line)
	default:
		fmt.Fprintln(s.w, line)
	}
	s.shown = true
}

// end leaves the last line where it is.
func (s *statusLine) end() {
	if s.shown && s.terminal {
		fmt.Fprintln(s.w)
	}
}

// progress shows how far a conversion has come. What takes less than a second
// says nothing.
type progress struct {
	statusLine
	total int64 // bytes of the input, 0 if that is not known
	read  int64
	now   func() time.Time
	start time.Time
	next  time.Time // when to show the next line
}

// newProgress decides whether to show anything.
func newProgress(env *environment, always bool, in io.Reader) *progress {
	p := &progress{statusLine: newStatusLine(env, always), now: time.Now}
	p.begin(sizeOf(in))
	return p
}

// begin starts the clock.
func (p *progress) begin(total int64) {
	p.total, p.start = total, p.now()
	p.next = p.start.Add(time.Second)
}

// sizeOf returns the size of a regular file, 0 for other inputs.
func sizeOf(in io.Reader) int64 {
	f, ok := in.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// reader counts what is read from in.
func (p *progress) reader(in io.Reader) io.Reader { return &countingReader{in, p} }

type countingReader struct {
	io.Reader
	p *progress
}

func (r *countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.p.read += int64(n)
	return n, err
}

// report shows how far the conversion has come, at most a few times a second.
func (p *progress) report(s transcode.Stats) {
	if p.w == nil || p.now().Before(p.next) {
		return
	}
	p.show(p.line(s))
	p.next = p.now().Add(time.Second)
	if p.terminal {
		p.next = p.now().Add(time.Second / 5)
	}
}

// finish shows the last line, if there has been one before.
func (p *progress) finish(s transcode.Stats) {
	if p.shown {
		p.show(p.line(s))
	}
	p.end()
}

// line renders bytes, share, rate and values.
func (p *progress) line(s transcode.Stats) string {
	line := size(float64(p.read))
	if p.total > 0 {
		line += fmt.Sprintf(" of %s (%d%%)", size(float64(p.total)), min(100, p.read*100/p.total))
	}
	if seconds := p.now().Sub(p.start).Seconds(); seconds > 0 {
		line += ", " + size(float64(p.read)/seconds) + "/s"
	}
	return line + ", " + count(int(s.Values), "value")
}

// size renders a number of bytes.
func size(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 1000 {
			if unit == "B" || n >= 100 {
				return fmt.Sprintf("%.0f %s", n, unit)
			}
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.1f TB", n)
}
