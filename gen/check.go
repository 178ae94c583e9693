package gen

// What the schema may hold and Go cannot express, found before anything is
// written.

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// check reports the types of all files that Go cannot express.
func (g *generator) check() {
	seen := make(map[*schema.Type]bool)
	for _, f := range g.files {
		for _, c := range f.consts {
			g.checkType(c.Const.Type(), c.Span(), seen)
		}
		for _, t := range f.typedefs {
			g.checkType(t.Type(), t.Span(), seen)
		}
		for _, s := range f.structs {
			s.check(seen)
		}
		for _, s := range f.services {
			for _, m := range s.Methods {
				if m.Mode != "" {
					continue
				}
				m.Args.check(seen)
				if m.Result != nil {
					m.Result.check(seen)
				}
			}
		}
	}
}

func (s *goStruct) check(seen map[*schema.Type]bool) {
	for _, f := range s.Fields {
		s.checkType(f.valueType(), f.Span(), seen)
		f.annotated()
	}
}

// checkType reports what is wrong with t and its parts at the place that uses
// it first. Typedefs may share parts, so each is looked at once.
func (g *generator) checkType(t *schema.Type, at diag.Span, seen map[*schema.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if text := t.Annotations().Value("go.type"); text != "" {
		switch {
		case t.Kind() == schema.Struct || t.Kind() == schema.Enum:
			g.report(at, "go-type", "go.type does not apply to a "+t.Kind().String(), "rename the type with go.name")
		case !goTypeName.MatchString(text):
			g.report(at, "go-type", "go.type does not name a Go type: "+text, "write import/path.Name")
		}
	}
	switch t.Kind() {
	case schema.U8, schema.U16, schema.U32, schema.U64:
		g.report(at, "unsigned", "Thrift has no values of type "+t.Kind().String(), "use a signed integer")
	case schema.List, schema.Set:
		g.checkType(t.Elem(), at, seen)
	case schema.Map:
		if t.Key().Kind().IsContainer() {
			g.report(at, "map-key", "Go has no maps with keys of type "+keyName(t.Key()),
				"put the key into a struct: struct keys become pointers")
		} else {
			g.checkType(t.Key(), at, seen)
		}
		g.checkType(t.Elem(), at, seen)
	}
}

// keyName names a type without following typedefs, whose text may be long.
func keyName(t *schema.Type) string {
	if d := t.Typedef(); d != nil {
		return d.Name()
	}
	return t.String()
}

// report adds an error, unless one with that code stands there already.
func (g *generator) report(at diag.Span, code, message, hint string) {
	for _, d := range g.errs {
		if d.Span == at && d.Code == code {
			return
		}
	}
	g.errs = append(g.errs, &diag.Diagnostic{Code: code, Span: at, Message: message, Hint: hint})
}
