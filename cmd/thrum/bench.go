package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
)

// This file is "thrum bench": its flags, its requests and a run. What differs by language of the IDL is
// in bench_flat.go, what is shown of the result in bench_report.go and bench_chart.go.

func benchCommand() *command {
	return &command{
		name: "bench", args: "ADDRESS --idl FILE --method Service.method [--json TEMPLATE]",
		summary: "load a server of Thrift or FlatBuffers and measure it",
		help: "Sends calls to the server at ADDRESS (host:port or unix:PATH) and checks every reply.\n" +
			"Without --rate each connection keeps --depth calls outstanding, and the result is what\n" +
			"the server can do. With --rate calls come at their times whether or not earlier ones\n" +
			"are answered, latency counts from when a call was to be sent, and the result is what\n" +
			"callers would see at that rate.\n" +
			"\n" +
			"TEMPLATE is a JSON object of the arguments, or @FILE that holds one, with placeholders:\n" +
			"  {{seq}}         1, 2, 3 and so on\n" +
			"  {{rand A B}}    a random integer from A to B\n" +
			"  {{text N}}      N random letters\n" +
			"  {{uuid}}        a random UUID\n" +
			"  {{pick A B …}}  one of the words\n" +
			"The calls are encoded before the run: --variants of each template that has a\n" +
			"placeholder, which are sent again and again. --method may be given several times;\n" +
			"--json and --weight are about the --method before them.\n" +
			"\n" +
			dialectHelp + "\n" +
			"There is one more dialect: ttheader-framed, with a frame inside TTHeader's, as Kitex\n" +
			"may have it. Over http2 and grpc a connection has at most 100 calls outstanding, and\n" +
			"bytes are counted without what HTTP adds.\n" +
			"\n" +
			"Services of a .fbs or .bfbs file are called over trpc, whose compressions are none,\n" +
			"gzip, zlib and snappy, or over grpc, which has none and gzip. An error of the\n" +
			"application is a reply, like an exception.\n" +
			"\n" +
			"Ctrl-C ends the run early; its result is shown. The exit code is 1 if a call failed.",
		examples: []string{
			`thrum bench 127.0.0.1:9090 --idl shop.thrift --method Shop.getBook --json '{"id": {{rand 1 5}}}'`,
			"thrum bench 127.0.0.1:9090 --idl shop.thrift --method Shop.ping --connections 64 --depth 100 --dialect ttheader",
			"thrum bench 127.0.0.1:9090 --idl shop.thrift --method Shop.search --json @search.json --rate 5000 --chart search.svg",
			`thrum bench 127.0.0.1:8000 --idl orders.fbs --method shop.v1.Orders.Place --json '{"id": {{seq}}}' --depth 100`,
			"thrum bench 127.0.0.1:9090 --idl shop.thrift --method Shop.ping --weight 9 --method Shop.subjects --json-out result.json",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			var f benchFlags
			f.declare(fs)
			return func(env *environment, args []string) error { return f.run(env, args) }
		},
	}
}

// benchFlags are the flags of "thrum bench".
type benchFlags struct {
	speech
	methodFlags
	calls    []benchCall
	config   load.Config
	variants int
	same     bool
	inOrder  bool
	headers  listFlag
	jsonOut  string
	chart    string
	progress bool
}

// benchCall is one --method with what belongs to it.
type benchCall struct {
	Method   string `json:"method"`
	Template string `json:"json"`
	Weight   int    `json:"weight"`
	Variants int    `json:"variants"`
}

func (f *benchFlags) declare(fs *flag.FlagSet) {
	f.speech.declare(fs)
	f.methodFlags.declare(fs)
	fs.Func("method", "call this `Service.method`; may be given several times", func(name string) error {
		f.calls = append(f.calls, benchCall{Method: name, Template: "{}", Weight: 1})
		return nil
	})
	last := func(set func(c *benchCall, v string) error) func(string) error {
		return func(v string) error {
			if len(f.calls) == 0 {
				return errors.New("it stands before the first --method")
			}
			return set(&f.calls[len(f.calls)-1], v)
		}
	}
	fs.Func("json", "the arguments of the method before: a `template` or @FILE (default {})", last(func(c *benchCall, v string) error {
		c.Template = v
		return nil
	}))
	fs.Func("weight", "the share of the method before in the mix, a `number` (default 1)", last(func(c *benchCall, v string) error {
		if _, err := fmt.Sscanf(v+"\n", "%d\n", &c.Weight); err != nil || c.Weight < 1 || c.Weight > 100 {
			return errors.New("a weight is from 1 to 100")
		}
		return nil
	}))
	c := &f.config
	fs.IntVar(&c.Connections, "connections", 8, "how many connections, a `number`")
	fs.IntVar(&c.Depth, "depth", 0, "how many calls each connection may have outstanding, a `number` (default 1, or 1000 with --rate)")
	fs.Float64Var(&c.Rate, "rate", 0, "send this many `calls` per second, over all connections (default as fast as replies come)")
	fs.BoolVar(&c.Poisson, "poisson", false, "with --rate, send as independent callers do, not evenly")
	fs.DurationVar(&c.Duration, "duration", 10*time.Second, "measure for this `time`")
	fs.DurationVar(&c.Warmup, "warmup", time.Second, "send for this `time` before measuring")
	fs.DurationVar(&c.Timeout, "timeout", 10*time.Second, "count a call as failed after this `time`")
	fs.Uint64Var(&c.Seed, "seed", 1, "the `number` that random values start from")
	fs.IntVar(&f.variants, "variants", 1000, "how many calls are prepared of a template with placeholders, a `number`")
	fs.BoolVar(&f.same, "same", false, "fail replies that differ from the first one to the same call")
	fs.BoolVar(&f.inOrder, "in-order", false, "of theader and ttheader, tell the server to keep the order of calls")
	fs.Var(&f.headers, "header", "of theader, ttheader, http, http2, trpc and grpc, send this `key=value` with each call; may be given several times")
	fs.StringVar(&f.jsonOut, "json-out", "", "write the result as JSON to this `file`, or - for standard output instead of the table")
	fs.StringVar(&f.chart, "chart", "", "draw the result as SVG to this `file`")
	fs.BoolVar(&f.progress, "progress", false, "show progress even if standard error is no terminal")
}

func (f *benchFlags) run(env *environment, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	c := &f.config
	var err error
	if c.Network, c.Address, err = networkOf(args[0]); err != nil {
		return err
	}
	if err := f.requests(env); err != nil {
		return err
	}
	files, err := f.create(env)
	if err != nil {
		return err
	}
	defer files.discard()
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	status := newStatusLine(env, f.progress)
	c.Progress = func(p load.Progress) {
		status.show(progressText(p))
		if p.Replies == 0 && p.Errors > 0 { // nothing works: why wait for the end
			cancel()
		}
	}
	result, err := load.Run(ctx, *c)
	status.end()
	if err != nil {
		return unanswered(err, args[0])
	}
	r := &benchReport{
		Address: args[0], Dialect: f.dialect, Protocol: f.protocol, Compress: f.compress,
		Started: time.Now().Add(-result.Elapsed).UTC().Truncate(time.Second), Calls: f.calls, Result: result,
	}
	if err := f.write(env, r, files); err != nil {
		return err
	}
	if result.Failed() > 0 || result.Latency.Count == 0 && env.ctx.Err() == nil {
		return errReported
	}
	return nil
}

// check says what does not go together, and fills in what depends on other flags.
func (f *benchFlags) check(args []string) (err error) {
	c := &f.config
	switch {
	case len(args) != 1:
		return usageError("one address is needed")
	case len(f.calls) == 0:
		return usageError("--method is missing: it names the Service.method to call")
	case c.Connections < 1 || c.Depth < 0:
		return usageError("--connections must be at least 1, --depth at least 1")
	case c.Rate < 0:
		return usageError("--rate must not be negative")
	case c.Poisson && c.Rate == 0:
		return usageError("--poisson needs --rate")
	case c.Duration <= 0 || c.Warmup < 0:
		return usageError("--duration must be positive, --warmup not negative")
	case f.variants < 1 || f.variants > 10_000:
		return usageError("--variants must be from 1 to 10000")
	case f.jsonOut != "" && f.jsonOut != "-" && f.chart != "" && filepath.Clean(f.jsonOut) == filepath.Clean(f.chart):
		return usageError("--json-out and --chart name the same file")
	}
	if err := checkTimeout(c.Timeout); err != nil {
		return err
	}
	if err := spare(f.inputs(), f.jsonOut, f.chart); err != nil {
		return err
	}
	if c.Form, err = f.speaks(); err != nil {
		return err
	}
	config, err := f.tls.config(args[0], protocolOf(c.Form.Dialect))
	if err != nil {
		return err
	}
	if config != nil {
		c.Dial = (&tls.Dialer{Config: config}).DialContext
	}
	c.Form.Host, c.Form.Path = httpHost(args[0]), f.path
	for _, h := range f.headers {
		key, value, ok := strings.Cut(h, "=")
		if !ok || key == "" {
			return usageError(fmt.Sprintf("--header is %q; it has the form key=value", h))
		}
		c.Form.Headers = append(c.Form.Headers, load.Pair{Key: key, Value: value})
	}
	switch d := c.Form.Dialect; {
	case len(f.headers) == 0:
	case d == load.Framed || d == load.Unframed:
		return usageError("the dialect " + f.dialect + " has no headers")
	case d == load.HTTP || d == load.HTTP2 || d == load.GRPC:
		for i, h := range c.Form.Headers {
			if !httpHeader(h.Key, h.Value) {
				return usageError(fmt.Sprintf("--header is %q, which HTTP has no headers like", f.headers[i]))
			}
		}
	}
	if c.Depth == 0 {
		c.Depth = 1
		if c.Rate > 0 {
			c.Depth = 1000
		}
	}
	return nil
}

// httpHeader reports whether HTTP allows such a header.
func httpHeader(key, value string) bool {
	token := !strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	return token && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// inputs returns the paths of the files that the flags name to read.
func (f *benchFlags) inputs() []string {
	paths := []string{f.idl}
	for _, c := range f.calls {
		if path, ok := strings.CutPrefix(c.Template, "@"); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// maxPrepared bounds the calls that are prepared, in bytes.
const maxPrepared = 256 << 20

// requests prepares the calls.
func (f *benchFlags) requests(env *environment) error {
	rng := rand.New(rand.NewPCG(f.config.Seed, 0))
	total := 0
	for i := range f.calls {
		c := &f.calls[i]
		service, def, err := f.find(env.stderr, c.Method)
		if err != nil {
			return err
		}
		if def.Oneway() || def.Stream() != nil {
			return fmt.Errorf("%s is not answered by one reply, so there is nothing to measure", c.Method)
		}
		encode, err := f.encoder(service, def)
		if err != nil {
			return err
		}
		t, err := f.template(c)
		if err != nil {
			return err
		}
		list, size, err := f.prepare(t, c, encode, rng, maxPrepared-total)
		if err != nil {
			return err
		}
		total += size
		f.config.Requests = append(f.config.Requests, list...)
	}
	f.weigh()
	return nil
}

// template reads the template of a call.
func (f *benchFlags) template(c *benchCall) (*template, error) {
	text, where := c.Template, "--json"
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text, where = string(b), path
	}
	t, err := parseTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	c.Variants = 1
	if t.varies() {
		c.Variants = f.variants
	}
	return t, nil
}

// prepare encodes the variants of a call, of at most limit bytes in all.
func (f *benchFlags) prepare(t *template, c *benchCall, encode func([]byte) (load.Request, error), rng *rand.Rand, limit int) (list []load.Request, used int, err error) {
	for seq := range c.Variants {
		text := t.fill(seq+1, rng)
		r, err := encode(text)
		if err != nil {
			return nil, 0, fmt.Errorf("the arguments of %s: %w\n%s", c.Method, err, clip(text))
		}
		r.Kind, r.Same = c.Method, f.same
		if used += r.Size(); used > limit {
			return nil, 0, fmt.Errorf("the prepared calls exceed %s; --variants makes them fewer", size(maxPrepared))
		}
		list = append(list, r)
	}
	return list, used, nil
}

// weigh spreads the weight of each call over its variants.
func (f *benchFlags) weigh() {
	scale := 1 // so that all variants have a share of their call's weight in whole numbers
	for _, c := range f.calls {
		scale = max(scale, c.Variants)
	}
	i := 0
	for _, c := range f.calls {
		for range c.Variants {
			f.config.Requests[i].Weight = max(c.Weight*scale/c.Variants, 1)
			i++
		}
	}
}

// benchFiles are where the result goes beside the table, nil for what is not asked for.
type benchFiles struct{ json, chart *output }

// create creates the files before the run, so that its result is not lost for a bad path.
func (f *benchFlags) create(env *environment) (files benchFiles, err error) {
	if f.jsonOut != "" {
		if files.json, err = createOutput(env, []string{f.jsonOut}); err != nil {
			return files, err
		}
	}
	if f.chart != "" {
		if files.chart, err = createOutput(env, []string{f.chart}); err != nil {
			files.discard()
		}
	}
	return files, err
}

func (files benchFiles) discard() {
	for _, out := range []*output{files.json, files.chart} {
		if out != nil {
			out.discard()
		}
	}
}

// write writes the result to where the flags say. What cannot be written to a file is in the table nevertheless.
func (f *benchFlags) write(env *environment, r *benchReport, files benchFiles) (err error) {
	if files.json != nil {
		var b []byte
		if b, err = json.MarshalIndent(r, "", "  "); err == nil {
			err = files.json.put(append(b, '\n'))
		}
	}
	if files.chart != nil {
		err = errors.Join(err, files.chart.put(r.chart()))
	}
	if f.jsonOut == "-" || f.chart == "-" {
		return err
	}
	return errors.Join(err, r.print(env.stdout))
}

// put writes all of an output, and commits it.
func (o *output) put(b []byte) error {
	if _, err := o.Write(b); err != nil {
		return err
	}
	return o.commit()
}
