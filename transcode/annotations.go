package transcode

import (
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file reads the annotations that name fields.

// AnnotatedName returns the name that annotations give f in JSON, or "": the
// value of api.key or agw.key, the json name of go.tag (but not "-"), or the field's own name as
// agw.to_snake or agw.to_lower_camel_case rewrites it, which may stand at the field or
// its struct. The first of these in this order wins. It is made for [FieldNames].
func AnnotatedName(f *schema.Field) string {
	a := f.Annotations()
	for _, key := range [...]string{"api.key", "agw.key"} {
		if name := a.Value(key); name != "" {
			return name
		}
	}
	if name := jsonTag(a.Value("go.tag")); name != "" && name != "-" {
		return name
	}
	levels := []schema.Annotations{a}
	if f.Struct() != nil {
		levels = append(levels, f.Struct().Annotations())
	}
	return recased(f.Name(), levels...)
}

// AnnotatedNames returns [AnnotatedName] for what m takes and returns: where a field and its
// struct ask for no case, the method and then its service may. It is the default of [NewHTTPMethod].
func AnnotatedNames(m *schema.Method) func(*schema.Field) string {
	levels := []schema.Annotations{m.Annotations()}
	if m.Service() != nil {
		levels = append(levels, m.Service().Annotations())
	}
	return func(f *schema.Field) string {
		if name := AnnotatedName(f); name != "" || hasCase(f.Annotations()) || f.Struct() != nil && hasCase(f.Struct().Annotations()) {
			return name
		}
		return recased(f.Name(), levels...)
	}
}

// hasCase reports whether a asks for a case, or for none.
func hasCase(a schema.Annotations) bool {
	for _, c := range nameCases {
		if a.Has(c.annotation) {
			return true
		}
	}
	return false
}

// recased rewrites name as the first of levels that asks for a case says, "" if
// none does. A level with the value false keeps outer ones away.
func recased(name string, levels ...schema.Annotations) string {
	for _, a := range levels {
		for _, c := range nameCases {
			v, ok := a.Get(c.annotation)
			if !ok {
				continue
			}
			if on, err := strconv.ParseBool(v.Value); err == nil && !on {
				return ""
			}
			return c.convert(words(name))
		}
	}
	return ""
}

var nameCases = [...]struct {
	annotation string
	convert    func(words []string) string
}{
	{"agw.to_snake", func(w []string) string { return strings.Join(w, "_") }},
	{"agw.to_lower_camel_case", func(w []string) string {
		for i := 1; i < len(w); i++ {
			w[i] = strings.ToUpper(w[i][:1]) + w[i][1:]
		}
		return strings.Join(w, "")
	}},
}

// words splits an identifier at underscores and where upper case begins, and
// returns its words in lower case: HTTPCode_ok is http, code, ok. It has at least one.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = end
	}
	upper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '_':
			cut(i)
			start = i + 1
		case i > 0 && upper(i) && (!upper(i-1) || i+1 < len(name) && !upper(i+1) && name[i+1] != '_'):
			cut(i)
		}
	}
	cut(len(name))
	if out == nil {
		out = []string{name}
	}
	return out
}

// jsonTag returns the name in the key json of a Go struct tag, or "". The
// quotes may stand with backslashes, as IDL texts often have them.
func jsonTag(tag string) string {
	tag = strings.ReplaceAll(tag, `\"`, `"`)
	for tag != "" {
		tag = strings.TrimLeft(tag, " ")
		key, rest, ok := strings.Cut(tag, `:"`)
		if !ok {
			return ""
		}
		value, next, ok := strings.Cut(rest, `"`)
		if !ok {
			return ""
		}
		if key == "json" {
			name, _, _ := strings.Cut(value, ",")
			return name
		}
		tag = next
	}
	return ""
}
