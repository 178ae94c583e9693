package gen

// Struct tags, and what annotations say about fields and their types.

import (
	"fmt"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/schema"
)

// Tag returns the struct tag as a Go literal, or "".
func (f *goField) Tag() string {
	req := f.Requiredness()
	switch {
	case f.optional():
		req = schema.Optional
	case req == schema.Optional:
		req = schema.Default
	}
	var tags []string
	opts := f.owner.opts
	if opts.thriftTags {
		tag := fmt.Sprintf("%s,%d", f.Field.Name(), uint16(f.ID()))
		if req != schema.Default || !opts.frugalTags {
			tag += "," + req.String()
		}
		if !opts.frugalTags {
			tag += "," + f.owner.tagType(f.Field.Type())
		}
		tags = append(tags, fmt.Sprintf("thrift:%q", tag))
	}
	if opts.frugalTags {
		tag := fmt.Sprintf("%d,%s,%s", uint16(f.ID()), req, f.owner.tagType(f.Field.Type()))
		if k := f.Field.Type().Kind(); f.Annotations().Has("go.nocopy") && (k == schema.String || k == schema.Binary) {
			tag += ",nocopy"
		}
		tags = append(tags, fmt.Sprintf("frugal:%q", tag))
	}
	own, hasJSON := f.annotated()
	if opts.jsonTags && !hasJSON && !f.owner.Synthetic {
		tag := f.Field.Name()
		if req == schema.Optional {
			tag += ",omitempty"
		}
		tags = append(tags, fmt.Sprintf("json:%q", tag))
	}
	tag := strings.Join(append(tags, own...), " ")
	switch {
	case tag == "":
		return ""
	case strings.ContainsAny(tag, "`\r"):
		return strconv.Quote(tag)
	}
	return "`" + tag + "`"
}

var tagPair = regexp.MustCompile(`^\s*([^\s":\x00-\x1f]+):("(?:[^"\\]|\\.)*")`)

// annotated returns the pairs of the go.tag annotation, but for those that the
// options give, and whether one of them is for json.
func (f *goField) annotated() (pairs []string, json bool) {
	text := f.Annotations().Value("go.tag")
	rest := text
	if !strings.Contains(rest, `:"`) {
		rest = strings.ReplaceAll(rest, `\"`, `"`) // as it has to stand in a "…" literal of old IDL
	}
	for strings.TrimSpace(rest) != "" {
		m := tagPair.FindStringSubmatch(rest)
		if m == nil {
			f.owner.report(f.Span(), "go-tag", fmt.Sprintf("go.tag is not a struct tag: %q", text), `write it as key:"value" pairs`)
			return nil, json
		}
		rest = rest[len(m[0]):]
		switch m[1] {
		case "thrift", "frugal":
			continue
		case "json":
			json = true
		}
		pairs = append(pairs, m[1]+":"+m[2])
	}
	return pairs, json
}

// goName returns the Go name of something declared: that of the annotation
// go.name, else the one that the rules make.
func (g *generator) goName(d interface {
	Name() string
	Annotations() schema.Annotations
	Span() diag.Span
}) string {
	n := d.Annotations().Value("go.name")
	switch {
	case n == "":
		return identify(d.Name())
	case !token.IsIdentifier(n) || !token.IsExported(n):
		g.report(d.Span(), "go-name", fmt.Sprintf("go.name is not an exported Go name: %q", n), "start it with an upper-case letter")
		return identify(d.Name())
	}
	return n
}

var goTypeName = regexp.MustCompile(`^((?:\[\])?)(?:([A-Za-z0-9_.~/-]+)\.)?([A-Za-z_][A-Za-z0-9_]*)$`)

// annotatedType returns the Go type that the annotation go.type gives to t, or
// "". It names a type with the same underlying type, such as
// "example.com/bufs.View" for binary; a name without a path is of the same
// package.
func (f *goFile) annotatedType(t *schema.Type) string {
	text := t.Annotations().Value("go.type")
	if text == "" || t.Kind() == schema.Struct || t.Kind() == schema.Enum {
		return ""
	}
	m := goTypeName.FindStringSubmatch(text)
	switch {
	case m == nil, m[2] == "" && !token.IsExported(m[3]):
		return "" // the first is reported; the second is a word of other generators, such as thriftrw's slice
	case m[2] == "":
		return m[1] + m[3]
	}
	return m[1] + f.useAs(m[2]) + "." + m[3]
}

// useAs imports a package that the IDL names and returns its name in the file.
func (f *goFile) useAs(importPath string) string {
	if name, ok := f.imports[importPath]; ok {
		return name
	}
	used := gofile.Scope{}
	used.Reserve(taken...)
	for _, p := range f.packages {
		used.Reserve(p.alias)
	}
	for _, name := range f.imports {
		used.Reserve(name)
	}
	base := packageName(strings.Join(pathParts(path.Base(importPath)), "_"))
	name := base
	for n := 2; used[name] || local.MatchString(name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	f.imports[importPath] = name
	return name
}
