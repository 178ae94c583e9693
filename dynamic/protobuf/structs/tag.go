package structs

import (
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads tags.

// tag is what a tag says.
type tag struct {
	wire     protowire.Type
	zigzag   bool
	number   int32
	label    string // opt, req or rep
	name     string
	json     string
	enum     string
	packed   bool
	proto3   bool
	presence bool // proto3's optional
}

// maxNumber is the highest number that a field may have.
const maxNumber = 1<<29 - 1

var tagWires = map[string]protowire.Type{
	"varint": protowire.Varint, "zigzag32": protowire.Varint, "zigzag64": protowire.Varint,
	"fixed32": protowire.Fixed32, "fixed64": protowire.Fixed64, "bytes": protowire.Bytes, "group": protowire.StartGroup,
}

func parseTag(text string) (tag, *diag.Fault) {
	parts := strings.Split(text, ",")
	if len(parts) < 3 {
		return tag{}, invalid("the tag %q has no number or label", text)
	}
	wire, ok := tagWires[parts[0]]
	if !ok {
		return tag{}, invalid("the tag %q starts with no way of writing", text)
	}
	number, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || number < 1 || number > maxNumber {
		return tag{}, invalid("the tag %q has no number of a field", text)
	}
	out := tag{wire: wire, zigzag: strings.HasPrefix(parts[0], "zigzag"), number: int32(number), label: parts[2]}
	if out.label != "opt" && out.label != "req" && out.label != "rep" {
		return tag{}, invalid("the tag %q has no label opt, req or rep", text)
	}
	for _, part := range parts[3:] {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "name":
			out.name = value
		case "json":
			out.json = value
		case "enum":
			out.enum = value
		case "packed":
			out.packed = true
		case "proto3":
			out.proto3 = true
		case "oneof":
			out.presence = true
		case "def":
			return out, nil // the last, which may hold commas
		}
	}
	return out, nil
}

// encoding returns how a number of that tag is written.
func (t *tag) encoding() schema.Encoding {
	switch {
	case t.zigzag:
		return schema.ZigZag
	case t.wire == protowire.Fixed32 || t.wire == protowire.Fixed64:
		return schema.Fixed
	}
	return schema.StandardEncoding
}
