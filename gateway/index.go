package gateway

import (
	"bytes"
	"encoding/json"
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
			s.Methods = append(s.Methods, indexMethod{Name: def.Name(), Doc: def.Doc(), Oneway: def.Oneway()})
		}
		m := &s.Methods[len(s.Methods)-1]
		m.Routes = append(m.Routes, r.String())
	}
	return render(map[string]any{"services": services})
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
