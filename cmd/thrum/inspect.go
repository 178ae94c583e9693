package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/thrum-rpc/thrum/internal/inspect"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
)

// This file is "thrum inspect".

func inspectCommand() *command {
	return &command{
		name: "inspect", args: "[FILE] [--idl FILE [--type NAME | --method Service.method]]",
		summary: "show what an encoded message holds",
		help: "Shows messages of Thrift, Protobuf and, with their IDL, FlatBuffers as a tree, with\n" +
			"the offset of every part. FILE is standard input if it is left out or -. The format is\n" +
			"found out unless --format and its companions name it. With IDL, fields and enums have\n" +
			"names: messages with an envelope by the method that they name, others by --type, or\n" +
			"by --method for its arguments or, with --result, its result; FlatBuffers by --type or\n" +
			"the root type. What cannot be read is shown up to the fault, with exit code 1; what\n" +
			"does not fit the IDL is marked with !.\n" +
			"--plan shows the programs that encode and decode a type, for the Go struct that\n" +
			"\"thrum gen\" would write for it, and --asm the machine code of one of them.",
		examples: []string{
			"thrum inspect message.bin",
			"echo 0b000100000002686900 | thrum inspect --hex",
			"thrum inspect capture.bin --framed=true --idl shop.thrift",
			"thrum inspect order.bin --idl shop.thrift --type Order",
			"thrum inspect order.pb --idl shop.proto --type Order",
			"thrum inspect monster.mon --idl monster.fbs",
			"thrum inspect --plan --job decode --idl shop.thrift --type Order",
			"thrum inspect --asm amd64 --job encode --idl shop.thrift --type Order",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			var f inspectFlags
			f.declare(fs)
			return func(env *environment, args []string) error { return f.run(env, args) }
		},
	}
}

// inspectFlags are the flags of "thrum inspect".
type inspectFlags struct {
	idl      idlFlags
	method   string
	result   bool
	format   string
	framed   string
	envelope string
	hex      bool
	base64   bool
	plan     bool
	asm      string
	job      string
	maxBytes int
	maxParts int
	maxText  int
	color    string
}

func (f *inspectFlags) declare(fs *flag.FlagSet) {
	f.idl.declare(fs)
	fs.StringVar(&f.method, "method", "", "show values as arguments of this `Service.method`")
	fs.BoolVar(&f.result, "result", false, "with --method, show values as its result")
	fs.StringVar(&f.format, "format", "auto", "the `protocol`: auto, binary, compact, compact-fbthrift, protobuf or flatbuffers")
	fs.StringVar(&f.framed, "framed", "auto", "the `length` before each value: auto, false for none, true for four bytes, varint, or theader or ttheader for four bytes and headers")
	fs.StringVar(&f.envelope, "envelope", "auto", "what stands before a struct: auto, none, strict or non-strict")
	fs.BoolVar(&f.hex, "hex", false, "the input is hexadecimal text")
	fs.BoolVar(&f.base64, "base64", false, "the input is base64")
	fs.BoolVar(&f.plan, "plan", false, "show the programs of a type instead")
	fs.StringVar(&f.asm, "asm", "", "show the machine code of a type for this `processor` instead, without its extensions: amd64 or arm64")
	fs.StringVar(&f.job, "job", "", "with --plan or --asm, only this `job`: encode, size or decode")
	fs.IntVar(&f.maxBytes, "max-bytes", 1<<20, "show at most this many bytes of text, 0 for all")
	fs.IntVar(&f.maxParts, "max-parts", 100, "show at most this many `elements` of each list, set and map, 0 for all")
	fs.IntVar(&f.maxText, "max-text", 80, "show at most this many `bytes` of each string, 0 for all")
	fs.StringVar(&f.color, "color", "auto", "colours: auto, always or never")
}

func (f *inspectFlags) run(env *environment, args []string) error {
	if len(args) > 1 {
		return usageError("one file is enough")
	}
	o := inspect.Options{MaxBytes: f.maxBytes, MaxParts: f.maxParts, MaxText: f.maxText}
	var err error
	if o.Format, err = f.formatOption(); err != nil {
		return err
	}
	if o.Color, err = colored(f.color, env); err != nil {
		return err
	}
	if err := f.schema(env, &o); err != nil {
		return err
	}
	if f.asm != "" {
		return f.showCode(env.stdout, o, len(args))
	}
	if f.plan {
		return f.showPlan(env.stdout, o.Struct, len(args))
	}
	data, err := f.read(env, args)
	if err != nil {
		return err
	}
	return inspect.Write(env.stdout, data, o)
}

// formatOption reads the flags that say what the input is.
func (f *inspectFlags) formatOption() (o inspect.Format, err error) {
	if o.Protocol, err = choose("format", f.format, map[string]inspect.Protocol{
		"auto": 0, "binary": inspect.Binary, "compact": inspect.Compact, "compact-fbthrift": inspect.CompactFBThrift,
		"protobuf": inspect.Protobuf, "flatbuffers": inspect.FlatBuffers,
	}); err != nil {
		return o, err
	}
	if o.Framing, err = choose("framed", f.framed, map[string]inspect.Framing{
		"auto": 0, "true": inspect.Framed, "false": inspect.Unframed, "varint": inspect.Delimited,
		"theader": inspect.THeader, "ttheader": inspect.TTHeader,
	}); err != nil {
		return o, err
	}
	o.Envelope, err = choose("envelope", f.envelope, map[string]inspect.Envelope{
		"auto": 0, "none": inspect.Bare, "strict": inspect.Strict, "non-strict": inspect.NonStrict,
	})
	return o, err
}

// schema finds what the IDL says of the input.
func (f *inspectFlags) schema(env *environment, o *inspect.Options) error {
	if isFBS(f.idl.path) || o.Format.Protocol == inspect.FlatBuffers {
		return f.table(env, o)
	}
	if f.idl.path == "" {
		if f.idl.name != "" || f.method != "" || f.plan || f.asm != "" {
			return usageError("--idl is missing: it names the .thrift file")
		}
		return nil
	}
	if f.idl.name != "" && f.method != "" {
		return usageError("--type and --method exclude each other")
	}
	file, err := f.idl.load(env.stderr)
	if err != nil {
		return err
	}
	if isProto(f.idl.path) {
		if f.method != "" || f.plan || f.asm != "" || o.Format.Protocol != 0 && o.Format.Protocol != inspect.Protobuf {
			return usageError("a .proto file goes with --type, and with --format protobuf or auto")
		}
		o.Format.Protocol = inspect.Protobuf
	}
	o.Method = func(name string) *schema.Method { return methodCalled(file, name) }
	switch {
	case f.idl.name != "":
		o.Struct, err = f.idl.find(file)
	case f.method != "":
		var m *schema.Method
		if _, m, err = findMethod(file, f.method); err == nil {
			o.Struct = m.Args()
			if f.result {
				o.Struct = m.Result()
			}
			o.Method = func(string) *schema.Method { return m }
		}
	}
	return err
}

// table finds the root table of FlatBuffers.
func (f *inspectFlags) table(env *environment, o *inspect.Options) (err error) {
	p, framing := o.Format.Protocol, o.Format.Framing
	if f.method != "" || f.plan || f.asm != "" || p != 0 && p != inspect.FlatBuffers || framing > inspect.Framed {
		return usageError("a .fbs or .bfbs file goes with --type, --framed=true or false, and --format flatbuffers or auto")
	}
	o.Format.Protocol = inspect.FlatBuffers
	o.Struct, err = f.idl.table(env.stderr)
	return err
}

// methodCalled returns the method that a message's name means: method, or
// Service:method as multiplexed clients write. It is nil if several services
// have the method.
func methodCalled(f *schema.File, name string) *schema.Method {
	if service, method, ok := strings.Cut(name, ":"); ok {
		if s := findService(f, service); s != nil {
			return s.Method(method)
		}
		return nil
	}
	var found *schema.Method
	for _, s := range f.Services() {
		if m := s.Method(name); m != nil && m != found {
			if found != nil {
				return nil
			}
			found = m
		}
	}
	return found
}

// read returns the bytes to show.
func (f *inspectFlags) read(env *environment, args []string) ([]byte, error) {
	if f.hex && f.base64 {
		return nil, usageError("--hex and --base64 exclude each other")
	}
	in, err := openInput(env, args)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	switch {
	case err != nil:
		return nil, err
	case f.hex:
		return decodeHex(data)
	case f.base64:
		return decodeBase64(data)
	}
	return data, nil
}

// showPlan writes the programs of a struct.
func (f *inspectFlags) showPlan(w io.Writer, def *schema.StructDef, args int) error {
	if def == nil || args > 0 {
		return usageError("--plan needs --type or --method, and no file")
	}
	jobs := []plan.Job{plan.Encode, plan.Size, plan.Decode}
	if f.job != "" {
		job, err := choose("job", f.job, map[string]plan.Job{"encode": plan.Encode, "size": plan.Size, "decode": plan.Decode})
		if err != nil {
			return err
		}
		jobs = []plan.Job{job}
	}
	layout, slots := lower.Natural(def)
	for i, job := range jobs {
		p, err := lower.Struct(job, layout, slots)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := io.WriteString(w, plan.Format(p)); err != nil {
			return err
		}
	}
	return nil
}

var errNoHex = errors.New("the input is not hexadecimal text: pairs of digits, with white space or colons between them")
