package rpcsuite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// This file starts processes and talks with them. A process says "port N" once
// it listens, and ends when its standard input does. Those that are this
// program itself, told by their first argument what to be, also answer
// commands, a line of JSON for each line.

// The first argument of a process that this program starts of itself.
const (
	serveFlag    = "-serve"    // NAME: be a server
	generateFlag = "-generate" // [paced]: be the load generator
	pacedFlag    = "paced"     // of open loops
)

// Child is what a process does whose arguments say that the suite has started
// it. The first result is false if they do not. Contests are those of other suites.
func Child(args []string, in io.Reader, out io.Writer, contests ...Contest) (bool, error) {
	c := merged(contests)
	if len(args) > 0 && (args[0] == serveFlag || args[0] == generateFlag) && out == os.Stdout {
		var err error
		if out, err = answers(); err != nil {
			return true, err
		}
	}
	switch {
	case len(args) == 2 && args[0] == serveFlag:
		return true, c.serve(args[1], in, out)
	case len(args) == 2 && args[0] == generateFlag && args[1] == pacedFlag:
		// What paces is to run beside what reads and writes, on one core too.
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
		return true, c.generate(in, out)
	case len(args) == 1 && args[0] == generateFlag:
		return true, c.generate(in, out)
	}
	return false, nil
}

// process is a server or generator that runs.
type process struct {
	name    string
	pid     int
	address string // of a server

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

// launch starts a process on some cores.
func launch(name string, cmd *exec.Cmd, cores []int) (*process, error) {
	p := &process{name: name, cmd: cmd, stderr: &tail{}}
	cmd.Stderr = p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := startOn(cmd, cores); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// launchSelf starts this program as a child.
func launchSelf(name string, cores []int, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(name, exec.Command(self, args...), cores)
}

// launchServer starts a server and waits until it listens. binary is "" for
// those of this program.
func launchServer(name, binary string, cores []int) (*process, error) {
	var p *process
	var err error
	if binary != "" {
		p, err = launch(name, exec.Command(binary), cores)
	} else {
		p, err = launchSelf(name, cores, serveFlag, name)
	}
	if err != nil {
		return nil, err
	}
	line, err := p.line()
	port := 0
	if err == nil {
		_, err = fmt.Sscanf(line, "port %d", &port)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w: %s", name, err, p.stderr)
	}
	p.address = fmt.Sprintf("127.0.0.1:%d", port)
	return p, nil
}

// line waits for the next line of the process, a minute at most, for a
// generator's answer comes after its run.
func (p *process) line() (string, error) {
	kill := time.AfterFunc(time.Minute, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	line, err := p.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

// ask sends a command and decodes the answer.
func (p *process) ask(command, answer any) error {
	text, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, p.stderr)
	}
	line, err := p.line()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, p.stderr)
	}
	var failed struct{ Error string }
	if json.Unmarshal([]byte(line), &failed) == nil && failed.Error != "" {
		return fmt.Errorf("%s: %s", p.name, failed.Error)
	}
	return json.Unmarshal([]byte(line), answer)
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.in.Close()
	kill := time.AfterFunc(3*time.Second, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	p.cmd.Wait()
}

// answerEach is the other end of ask: it answers each line of in until there is none.
func answerEach[Q, A any](in io.Reader, out io.Writer, f func(Q) (A, error)) error {
	d, e := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q Q
		if err := d.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		a, err := f(q)
		var sent any = a
		if err != nil {
			sent = struct{ Error string }{err.Error()}
		}
		if err := e.Encode(sent); err != nil {
			return err
		}
	}
}

// tail keeps the last of what a process says on its standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b) - 2000; n > 0 {
		t.b = t.b[n:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
