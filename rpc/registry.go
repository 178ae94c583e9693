package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the table of methods by the names that clients call.

// separator stands between service and method in Apache's multiplexed protocol.
const separator = ":"

// registry maps called names to methods. It is immutable: Register and Replace
// swap it for another one, so that lookups need no lock.
type registry struct {
	services []*Service       // in the order of their registration
	entries  map[string]entry // by "Service:method" and by bare "method"; of messages by "/Service/method"
	unknown  []*Service       // those that serve unknown methods
}

// entry is what a name leads to: a method, or several services that have it.
type entry struct {
	method *Method
	owners []string // services that have a method of this bare name
}

// newRegistry returns a registry of services, which it keeps.
func newRegistry(services []*Service) (*registry, error) {
	r := &registry{services: services, entries: map[string]entry{}}
	for _, s := range services {
		if err := r.add(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// with returns a registry that holds s too, in the place of the service of the
// same name if replace is set.
func (r *registry) with(s *Service, replace bool) (*registry, error) {
	if s == nil {
		return nil, errors.New("rpc: register: nil service")
	}
	own := *s // a copy, so that the caller cannot change it later
	own.Methods = slices.Clone(s.Methods)
	for i := range own.Methods { // now, since calls may run as soon as the registry is in use
		m := &own.Methods[i]
		m.service, m.form, m.head = s.Name, m.choose(), callHead(m.Name)
	}
	services := slices.Clone(r.services)
	at := slices.IndexFunc(services, func(other *Service) bool { return other.Name == s.Name })
	switch {
	case at < 0:
		services = append(services, &own)
	case replace:
		services[at] = &own
	default:
		return nil, fmt.Errorf("rpc: register: service %q is registered already", s.Name)
	}
	return newRegistry(services)
}

// callHead returns what stands before the sequence id of a call's message in the binary protocol.
func callHead(name string) string {
	b := thriftwire.AppendMessage(nil, thriftwire.Call, name, 0)
	return string(b[:len(b)-4])
}

// add adds a service under construction.
func (r *registry) add(s *Service) error {
	if strings.Contains(s.Name, separator) {
		return fmt.Errorf("rpc: register: service name %q contains %q", s.Name, separator)
	}
	seen := map[string]bool{}
	for i := range s.Methods {
		m := &s.Methods[i]
		switch {
		case m.err != nil:
			return fmt.Errorf("rpc: register: %s.%s: %w", s.Name, m.Name, m.err)
		case m.Name == "" || strings.Contains(m.Name, separator):
			return fmt.Errorf("rpc: register: service %q has a method named %q", s.Name, m.Name)
		case m.choose() == formNone:
			return fmt.Errorf("rpc: register: %s.%s has no form that serves it", s.Name, m.Name)
		case seen[m.Name]:
			return fmt.Errorf("rpc: register: %s.%s stands twice", s.Name, m.Name)
		}
		seen[m.Name] = true
		if m.onMessages() {
			if err := r.addMessage(s, m); err != nil {
				return err
			}
			continue
		}
		if s.Name != "" {
			r.entries[s.Name+separator+m.Name] = entry{method: m}
		}
		bare := r.entries[m.Name]
		r.entries[m.Name] = entry{method: m, owners: append(bare.owners, s.Name)}
	}
	if s.Unknown != nil {
		r.unknown = append(r.unknown, s)
	}
	return nil
}

// lookup finds the method that a client calls by name.
func (r *registry) lookup(name []byte, oneway bool) (*Method, *ApplicationException) {
	e, ok := r.entries[string(name)]
	switch {
	case !ok:
		if m := r.askUnknown(string(name), oneway); m != nil {
			return m, nil
		}
		return nil, exceptionf(UnknownMethod, "no method %q here", clip(name))
	case len(e.owners) > 1:
		return nil, exceptionf(UnknownMethod, "method %q is in the services %s: call one of them by %q",
			clip(name), strings.Join(e.owners, ", "), "Service:method")
	}
	return e.method, nil
}

// askUnknown asks the service that serves unknown methods of that name: the one
// that it names, or for a bare name the only one. It returns nil if there is none.
func (r *registry) askUnknown(name string, oneway bool) *Method {
	service, method, named := strings.Cut(name, separator)
	if !named {
		method = name
	}
	var found *Service
	for _, s := range r.unknown {
		switch {
		case named && s.Name != service:
		case found != nil:
			return nil
		default:
			found = s
		}
	}
	if found == nil || method == "" || named && service == "" || strings.Contains(method, separator) {
		return nil
	}
	if m := answerUnknown(found, method, oneway); m != nil && m.choose() != formNone {
		own := *m // it may serve other calls, too
		own.Name, own.service, own.form, own.unknown = method, found.Name, own.choose(), true
		return &own
	}
	return nil
}

// answerUnknown asks a service, which is its user's code. A panic there is
// answered as a handler's would be.
func answerUnknown(s *Service, method string, oneway bool) (m *Method) {
	defer func() {
		if recover() != nil {
			m = &Method{Name: method, Oneway: oneway, Serve: func(context.Context, []byte, []byte) ([]byte, error) {
				return nil, exceptionf(InternalError, "panic where service %q was asked for %s", s.Name, clip([]byte(method)))
			}}
		}
	}()
	return s.Unknown(method, oneway)
}

// bareName returns the name under which the reply to a call goes out: Apache's
// clients expect the method without the service.
func bareName(name []byte) []byte {
	if _, method, ok := bytes.Cut(name, []byte(separator)); ok {
		return method
	}
	return name
}

// clip shortens a name that a peer sent, for messages and logs.
func clip(name []byte) []byte {
	return name[:min(len(name), 100)]
}
