package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file is what "thrum convert" does with FlatBuffers.

// flatSwitches are the switches that FlatBuffers have a use for; the option is nil where one
// is on unless the switch says otherwise.
func flatSwitches() map[string]flatjson.Option {
	return map[string]flatjson.Option{
		"write-defaults": flatjson.WriteDefaults(),
		"enum-numbers":   flatjson.EnumNumbers(),
		"reject-unknown": nil,
	}
}

// flatConverters is converters for the formats of FlatBuffers.
func (f *convertFlags) flatConverters(env *environment, k *conversion) error {
	for _, o := range []format{k.from, k.to} {
		if fam := o.family(); fam != familyFlat && fam != familyJSON {
			return usageError("FlatBuffers go from and to JSON, not " + formatNames[o])
		}
	}
	opts := []flatjson.Option{flatjson.MaxOutput(f.maxSize)}
	known, strict := flatSwitches(), false
	for i, s := range convertSwitches() {
		option, ok := known[s.name]
		switch {
		case !*f.switches[i]:
		case !ok:
			return usageError("--" + s.name + " means nothing to FlatBuffers")
		case option == nil:
			strict = true
		default:
			opts = append(opts, option)
		}
	}
	if !strict {
		opts = append(opts, flatjson.SkipUnknown())
	}
	if k.entire = f.lenient; f.lenient {
		opts = append(opts, flatjson.Lenient())
	}
	root, err := f.idl.table(env.stderr)
	if err != nil {
		return err
	}
	if file := root.File(); file.Root() == root {
		k.flatID = file.Identifier()
	}
	k.flat = make(map[format]*flatjson.Converter)
	if k.flat[flatbuffersFormat], err = flatjson.New(root, opts...); err != nil {
		return err
	}
	k.flat[flatbuffersPrefixed], err = flatjson.New(root, append(opts, flatjson.SizePrefixed())...)
	return err
}

// misread returns err, which a message of FlatBuffers was read with, or says that the message is
// none of the schema's: it has the file identifier of another, or its size before it and the format has not.
func (k *conversion) misread(message []byte, err error) error {
	start := 0
	if k.from == flatbuffersPrefixed {
		start = flatwire.SizePrefix
	}
	id := flatwire.Identifier(message, start)
	text := !slices.ContainsFunc(id, func(c byte) bool { return c < ' ' || c > '~' })
	if k.flatID != "" && id != nil && text && string(id) != k.flatID { // what else may stand there is no text
		return diag.NewFault(diag.InvalidData, start+4, fmt.Sprintf("the message has the file identifier %q, that of the schema is %q", id, k.flatID))
	}
	var fault *diag.Fault
	_, rest, sized := flatwire.CutPrefix(message)
	for sized && len(rest) > 0 {
		_, rest, sized = flatwire.CutPrefix(rest)
	}
	if sized && start == 0 && errors.As(err, &fault) {
		fault.Detail += ", unless its size stands before it: then the format is flatbuffers-prefixed"
	}
	return err
}

// table returns the table of FlatBuffers that the flags name.
func (f *idlFlags) table(stderr io.Writer) (*schema.StructDef, error) {
	if !isFBS(f.path) {
		return nil, usageError("FlatBuffers need --idl with a .fbs or .bfbs file")
	}
	files, err := loadFlat(stderr, []string{f.path}, *f.dirs)
	if err != nil {
		return nil, err
	}
	if root := files[0].Root(); f.name == "" && root != nil {
		return root, nil
	}
	if f.name == "" {
		return nil, usageError(f.path + " has no root_type, so --type must name the table")
	}
	return findTable(files[0], f.name)
}
