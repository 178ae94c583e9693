package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/thrum-rpc/thrum/schema"
)

// This file describes the services for GET /.

type indexService struct {
	Name    string        `json:"name"`
	Doc     string        `json:"doc,omitempty"`
	Methods []indexMethod `json:"methods"`
}

type indexMethod struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc,omitempty"`
	Oneway bool     `json:"oneway,omitempty"`
	Routes []string `json:"routes"`
	// Arguments are an example of what POST /Service/method takes.
	Arguments map[string]any `json:"arguments"`
}

// describe renders the services with their routes, in the order of the schema.
func (t *table) describe() []byte {
	services := []indexService{}
	for i, r := range t.routes {
		if i == 0 || t.routes[i-1].service != r.service {
			services = append(services, indexService{Name: r.service.Name(), Doc: r.service.Doc()})
		}
		s := &services[len(services)-1]
		if i == 0 || t.routes[i-1].method != r.method {
			def := r.method.Schema()
			s.Methods = append(s.Methods, indexMethod{Name: def.Name(), Doc: def.Doc(), Oneway: def.Oneway(), Arguments: new(example).object(def.Args(), maxExampleDepth)})
		}
		m := &s.Methods[len(s.Methods)-1]
		m.Routes = append(m.Routes, r.String())
	}
	return render(map[string]any{"services": services})
}

// An example nests and has fields at most so many, so that schemas of wide structs in each other
// make no long ones.
const (
	maxExampleDepth  = 4
	maxExampleFields = 100
)

// example makes an example of arguments as JSON has it: every field empty or zero, of a union the
// first alone. Optional structs are left out, as is what exceeds the limits.
type example struct{ fields int }

func (e *example) object(s *schema.StructDef, depth int) map[string]any {
	object := make(map[string]any)
	for _, f := range s.Fields() {
		if v := e.value(f, depth); v != nil {
			object[f.Name()] = v
		}
		if s.Flavor() == schema.Union && len(object) > 0 {
			break
		}
	}
	return object
}

// value returns an example of a field's value, nil for none.
func (e *example) value(f *schema.Field, depth int) any {
	if e.fields++; e.fields > maxExampleFields {
		return nil
	}
	switch t := f.Type(); t.Kind() {
	case schema.Bool:
		return false
	case schema.String, schema.Binary:
		return ""
	case schema.UUID:
		return "00000000-0000-0000-0000-000000000000"
	case schema.Enum:
		if values := t.Enum().Values(); len(values) > 0 {
			return values[0].Name
		}
		return 0
	case schema.List, schema.Set:
		return []any{}
	case schema.Map:
		return map[string]any{}
	case schema.Struct:
		if depth == 0 || f.Requiredness() == schema.Optional {
			return nil
		}
		return e.object(t.Struct(), depth-1)
	}
	return 0
}

// render encodes v, which is made of types that have JSON, on one line.
func render(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("gateway: " + err.Error()) // a defect: v holds no such types
	}
	return b.Bytes()
}
