package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file is "thrum convert": its flags, and the choice of how to convert.
// Between JSON and the binary protocol package transcode streams values of any
// length; between other formats one value after another is held (pipeline.go).

func convertCommand() *command {
	return &command{
		name: "convert", args: "[INPUT [OUTPUT]] --from FORMAT --to FORMAT [--idl FILE --type NAME]",
		summary: "convert values between JSON, Thrift's protocols, Protobuf and FlatBuffers",
		help: "Reads values up to the end of INPUT and writes them to OUTPUT, which are standard\n" +
			"input and output if they are left out or -. OUTPUT appears only once it is complete.\n" +
			"\n" +
			"The formats:\n" +
			"  json                  values one after another, on lines or not, or in arrays\n" +
			"  json-array            the same; written as one array\n" +
			"  binary                structs in Thrift's binary protocol, one after another\n" +
			"  compact               the same in Apache's compact protocol\n" +
			"  compact-fbthrift      the same in fbthrift's compact protocol\n" +
			"  protobuf              one message\n" +
			"  protobuf-delimited    messages with their length before each, as a varint\n" +
			"  flatbuffers           one message, from and to JSON\n" +
			"  flatbuffers-prefixed  messages with their size before each, as four bytes\n" +
			"Thrift's formats with -framed have their length before each value, as four bytes.\n" +
			"A file's name that ends in .json, .jsonl or .ndjson needs no --from or --to.\n" +
			"\n" +
			"NAME is a struct of the file, or include.NAME for one of a file that it includes. For\n" +
			"FlatBuffers it is a table, with or without its namespace; left out, the root type.\n" +
			"Between Thrift's protocols neither is needed, between Thrift and Protobuf --proto is\n" +
			"needed too: fields are paired by their numbers. Values of any length go from binary to\n" +
			"json, and from json to binary if OUTPUT is a file; else each must fit in --max-size.",
		examples: []string{
			"thrum convert orders.jsonl orders.bin --to binary-framed --idl shop.thrift --type Order",
			"thrum convert orders.bin --from binary-framed --to json --idl shop.thrift --type Order",
			"thrum convert old.bin new.bin --from binary --to compact",
			"thrum convert order.bin order.pb --from binary --to protobuf --idl shop.thrift --proto shop.proto --type Order",
			"thrum convert monster.json monster.mon --to flatbuffers --idl monster.fbs --lenient",
			"thrum convert monster.mon --from flatbuffers --to json --idl monster.fbs",
			"curl -s https://example.org/order | thrum convert --from json --to protobuf --idl shop.proto --type Order",
		},
		setup: func(fs *flag.FlagSet) func(*environment, []string) error {
			var f convertFlags
			f.declare(fs)
			return func(env *environment, args []string) error { return f.run(env, args) }
		},
	}
}

// maxValue bounds what --max-size allows, in bytes.
const maxValue = 1 << 30

// convertFlags are the flags of "thrum convert".
type convertFlags struct {
	idl      idlFlags
	proto    string // with both Thrift and Protobuf
	message  string
	from, to string
	maxSize  int
	progress bool
	lenient  bool
	switches []*bool // of convertSwitches
}

// convertSwitch is an option of package transcode that is on or off.
type convertSwitch struct {
	name, usage string
	option      transcode.Option
}

func convertSwitches() []convertSwitch {
	return []convertSwitch{
		{"reject-unknown", "refuse fields that the type does not have", transcode.RejectUnknown()},
		{"strict-types", "refuse fields of another type than the IDL says", transcode.StrictTypes()},
		{"allow-missing", "accept values without their required fields", transcode.AllowMissing()},
		{"allow-duplicates", "accept map keys and set elements that stand twice", transcode.AllowDuplicates()},
		{"write-defaults", "write absent fields that have a default", transcode.WriteDefaults()},
		{"enum-numbers", "write enums as numbers", transcode.EnumNumbers()},
		{"int64-strings", "write i64 as strings, and read them", transcode.Int64Strings()},
		{"number-strings", "read numbers from strings too", transcode.NumberStrings()},
		{"raw-binary", "take binary for text, without base64", transcode.RawBinary()},
		{"lossy-text", "replace what is not UTF-8 instead of refusing it", transcode.LossyText()},
		{"annotated-names", "name fields as the IDL's annotations say", transcode.FieldNames(transcode.AnnotatedName)},
		{"pair-by-name", "pair fields of Thrift and Protobuf by name, not by number", transcode.PairByName()},
	}
}

func (f *convertFlags) declare(fs *flag.FlagSet) {
	f.idl.declare(fs)
	fs.StringVar(&f.proto, "proto", "", "between Thrift and Protobuf, the .proto `file` beside the .thrift file of --idl")
	fs.StringVar(&f.message, "message", "", "the `name` of the message in that file (default what --type names)")
	fs.StringVar(&f.from, "from", "", "the `format` of the input")
	fs.StringVar(&f.to, "to", "", "the `format` of the output")
	fs.IntVar(&f.maxSize, "max-size", transcode.DefaultMaxSize, "refuse values that must be held and exceed this many `bytes`")
	fs.BoolVar(&f.progress, "progress", false, "show progress even if standard error is no terminal")
	fs.BoolVar(&f.lenient, "lenient", false, "read what flatc takes for JSON, such as comments and names without quotes, to flatbuffers")
	for _, s := range convertSwitches() {
		f.switches = append(f.switches, fs.Bool(s.name, false, s.usage))
	}
}

func (f *convertFlags) run(env *environment, args []string) error {
	if len(args) > 2 {
		return usageError("an input and an output are enough")
	}
	from, err := formatOf("from", f.from, args, 0)
	if err != nil {
		return err
	}
	to, err := formatOf("to", f.to, args, 1)
	if err != nil {
		return err
	}
	if f.maxSize <= 0 || f.maxSize > maxValue {
		return usageError(fmt.Sprintf("--max-size must be from 1 to %d", maxValue))
	}
	k := conversion{from: from, to: to, maxSize: f.maxSize}
	if err := f.converters(env, &k); err != nil {
		return err
	}
	if err := spare([]string{f.idl.path, f.proto}, args[min(1, len(args)):]...); err != nil {
		return err
	}
	in, err := openInput(env, args)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := createOutput(env, args[min(1, len(args)):])
	if err != nil {
		return err
	}
	defer out.discard()
	p := newProgress(env, f.progress, in)
	stats, err := k.run(env.ctx, out, p.reader(in), p)
	p.finish(stats)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case err != nil:
		return err
	}
	return out.commit()
}

// formatOf returns the format that a flag or the name of a file says.
func formatOf(name, word string, args []string, i int) (format, error) {
	if word == "" && i < len(args) {
		switch strings.ToLower(filepath.Ext(args[i])) {
		case ".json", ".jsonl", ".ndjson":
			word = "json"
		}
	}
	if word == "" {
		return 0, usageError("--" + name + " is missing: it names the format")
	}
	choices := make(map[string]format)
	for i, n := range formatNames {
		choices[n] = format(i)
	}
	return choose(name, word, choices)
}

// converters compiles what the conversion needs of the IDL.
func (f *convertFlags) converters(env *environment, k *conversion) error {
	if k.from.family() == k.to.family() && k.from.family() != familyJSON && (k.from.family() != familyFlat || k.from == k.to) {
		return nil // values are rewritten without a schema, or stay as they are
	}
	if isFBS(f.idl.path) || k.from.family() == familyFlat || k.to.family() == familyFlat {
		return f.flatConverters(env, k)
	}
	if f.lenient {
		return usageError("--lenient is for JSON that becomes FlatBuffers")
	}
	if f.idl.path == "" || f.idl.name == "" {
		return usageError("from " + formatNames[k.from] + " to " + formatNames[k.to] + " needs --idl and --type")
	}
	opts := []transcode.Option{transcode.NonFinite(transcode.NonFiniteStrings), transcode.MaxSize(f.maxSize)}
	for i, s := range convertSwitches() {
		if *f.switches[i] {
			opts = append(opts, s.option)
		}
	}
	file, err := f.idl.load(env.stderr)
	if err != nil {
		return err
	}
	def, err := f.idl.find(file)
	if err != nil {
		return err
	}
	both := k.from.family() != familyJSON && k.to.family() != familyJSON
	if both != (f.proto != "") || both && isProto(f.idl.path) {
		return usageError("between Thrift and Protobuf --idl names the .thrift file and --proto the .proto file; elsewhere --idl is enough")
	}
	if both {
		beside := idlFlags{dirs: f.idl.dirs, path: f.proto, name: f.message}
		if beside.name == "" {
			beside.name = f.idl.name
		}
		if file, err = beside.load(env.stderr); err != nil {
			return err
		}
		message, err := beside.find(file)
		if err != nil {
			return err
		}
		k.bridge, err = transcode.NewBridge(def, message, opts...)
		return err
	}
	return k.compile(def, isProto(f.idl.path), opts)
}

// findStruct finds Name or include.Name.
func findStruct(f *schema.File, name string) *schema.StructDef {
	if def := f.Struct(name); def != nil {
		return def
	}
	for _, i := range f.Includes() {
		if rest, ok := strings.CutPrefix(name, i.Alias+"."); ok {
			return i.File.Struct(rest)
		}
	}
	return nil
}

// openInput opens the file that the arguments name, or standard input.
func openInput(env *environment, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		if f, ok := env.stdin.(*os.File); ok {
			return noClose{f}, nil
		}
		return io.NopCloser(env.stdin), nil
	}
	return os.Open(args[0])
}

// noClose is a file that stays open; its kind and size can still be asked for.
type noClose struct{ *os.File }

func (noClose) Close() error { return nil }

// run converts in to out.
func (k *conversion) run(ctx context.Context, out *output, in io.Reader, p *progress) (transcode.Stats, error) {
	opts := []transcode.StreamOption{transcode.StreamProgress(p.report)}
	if k.from.framed() || k.to.framed() {
		opts = append(opts, transcode.StreamFramed())
	}
	if k.to == jsonArray {
		opts = append(opts, transcode.StreamArray())
	}
	switch {
	case k.from.base() == binaryFormat && k.to.family() == familyJSON && k.thrift != nil:
		return k.thrift.CopyJSON(ctx, out, in, opts...)
	case k.from.family() == familyJSON && k.to.base() == binaryFormat && k.thrift != nil:
		if at := out.writerAt(); at != nil {
			return k.thrift.CopyThriftAt(ctx, at, in, opts...)
		}
		stats, err := k.thrift.CopyThrift(ctx, out, in, opts...)
		return stats, hinted(err)
	}
	return k.pipeline(ctx, out, in, p)
}

// hinted adds what helps against values that exceed memory.
func hinted(err error) error {
	if isSizeLimit(err) {
		return fmt.Errorf("%w\nhint: --max-size raises the limit; an output that is a file has none", err)
	}
	return err
}
