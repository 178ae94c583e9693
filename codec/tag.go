package codec

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file reads struct tags.

// fieldTag is what a field's tags say.
type fieldTag struct {
	name         string
	id           int16
	requiredness schema.Requiredness
	typ          *typeText // nil if none was given
	noCopy       bool
}

// parseTag reads the tags of a field; ok is false for a field without any.
func parseTag(f reflect.StructField) (t fieldTag, ok bool, err error) {
	thrift, hasThrift := f.Tag.Lookup("thrift")
	frugal, hasFrugal := f.Tag.Lookup("frugal")
	if !hasThrift && !hasFrugal {
		return t, false, nil
	}
	t.name = f.Name
	parts := splitTag(frugal)
	if hasThrift {
		p := splitTag(thrift)
		if p[0] != "" {
			t.name = p[0]
		}
		if !hasFrugal {
			parts = p[1:]
		}
	}
	if len(parts) == 0 || parts[0] == "" {
		return t, false, fmt.Errorf("the tag has no field id")
	}
	id, err := strconv.ParseUint(parts[0], 10, 16)
	if err != nil {
		return t, false, fmt.Errorf("invalid field number %q", parts[0])
	}
	t.id = int16(id)
	return t, true, t.options(parts[1:], hasFrugal)
}

// options reads what follows the id: requiredness, type, nocopy.
func (t *fieldTag) options(parts []string, frugal bool) (err error) {
	if len(parts) > 0 {
		switch parts[0] {
		case "default", "":
		case "required":
			t.requiredness = schema.Required
		case "optional":
			t.requiredness = schema.Optional
		default:
			return fmt.Errorf("invalid requiredness %q", parts[0])
		}
	}
	if len(parts) > 1 && parts[1] != "" {
		if t.typ, err = parseTypeText(parts[1]); err != nil {
			return err
		}
	}
	for i := 2; i < len(parts); i++ {
		if !frugal || parts[i] != "nocopy" {
			return fmt.Errorf("invalid option %q", parts[i])
		}
		t.noCopy = true
	}
	return nil
}

// splitTag cuts at commas outside of angle brackets and trims spaces.
func splitTag(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		case s[i] == '<':
			depth++
		case s[i] == '>':
			depth--
		}
	}
	return parts
}

// typeText is a type as a tag writes it.
type typeText struct {
	name string // a keyword or a declared name, perhaps with its package
	args []*typeText
}

func (t *typeText) String() string {
	switch len(t.args) {
	case 1:
		return t.name + "<" + t.args[0].String() + ">"
	case 2:
		return t.name + "<" + t.args[0].String() + ":" + t.args[1].String() + ">"
	}
	return t.name
}

// maxTypeDepth bounds the nesting of a type in a tag.
const maxTypeDepth = 64

func parseTypeText(s string) (*typeText, error) {
	t, rest, err := typePrefix(s, maxTypeDepth)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q after the type", rest)
	}
	if err != nil {
		return nil, fmt.Errorf("invalid type %q: %w", s, err)
	}
	return t, nil
}

// typePrefix reads one type from the front of s.
func typePrefix(s string, depth int) (*typeText, string, error) {
	if depth == 0 {
		return nil, "", fmt.Errorf("nested too deeply")
	}
	s = strings.TrimSpace(s)
	end := strings.IndexAny(s, "<>:, ")
	if end < 0 {
		end = len(s)
	}
	t := &typeText{name: s[:end]}
	if t.name == "" {
		return nil, "", fmt.Errorf("a name is missing")
	}
	rest := strings.TrimSpace(s[end:])
	want := map[string]int{"list": 1, "set": 1, "map": 2}[t.name]
	if want == 0 {
		return t, rest, nil
	}
	for i := range want {
		open := "<"
		if i > 0 {
			open = ":,"
		}
		if rest == "" || !strings.Contains(open, rest[:1]) {
			return nil, "", fmt.Errorf("%s needs %d types in angle brackets", t.name, want)
		}
		arg, r, err := typePrefix(rest[1:], depth-1)
		if err != nil {
			return nil, "", err
		}
		t.args = append(t.args, arg)
		rest = r
	}
	if !strings.HasPrefix(rest, ">") {
		return nil, "", fmt.Errorf("%s has no closing bracket", t.name)
	}
	return t, strings.TrimSpace(rest[1:]), nil
}
