package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// This file holds the table of methods by the names that clients call.

// separator stands between service and method in Apache's multiplexed protocol.
const separator = ":"

// registry maps called names to methods. It is immutable: Register swaps it
// for a larger one, so that lookups need no lock.
type registry struct {
	services map[string]*Service
	entries  map[string]entry // by "Service:method" and by bare "method"
}

// entry is what a name leads to: a method, or several services that have it.
type entry struct {
	method *Method
	owners []string // services that have a method of this bare name
}

// with returns a registry that holds s too.
func (r *registry) with(s *Service) (*registry, error) {
	if s == nil {
		return nil, errors.New("rpc: register: nil service")
	}
	if strings.Contains(s.Name, separator) {
		return nil, fmt.Errorf("rpc: register: service name %q contains %q", s.Name, separator)
	}
	if r.services[s.Name] != nil {
		return nil, fmt.Errorf("rpc: register: service %q is registered already", s.Name)
	}
	next := &registry{services: map[string]*Service{s.Name: s}, entries: map[string]entry{}}
	for name, old := range r.services {
		next.services[name] = old
	}
	for name, old := range r.entries {
		next.entries[name] = old
	}
	seen := map[string]bool{}
	for i := range s.Methods {
		m := s.Methods[i] // a copy, so that the caller cannot change it later
		switch {
		case m.err != nil:
			return nil, fmt.Errorf("rpc: register: %s.%s: %w", s.Name, m.Name, m.err)
		case m.Name == "" || strings.Contains(m.Name, separator):
			return nil, fmt.Errorf("rpc: register: service %q has a method named %q", s.Name, m.Name)
		case m.Serve == nil:
			return nil, fmt.Errorf("rpc: register: %s.%s: Serve is nil", s.Name, m.Name)
		case seen[m.Name]:
			return nil, fmt.Errorf("rpc: register: %s.%s stands twice", s.Name, m.Name)
		}
		seen[m.Name] = true
		if s.Name != "" {
			next.entries[s.Name+separator+m.Name] = entry{method: &m}
		}
		bare := next.entries[m.Name]
		owners := append(bare.owners[:len(bare.owners):len(bare.owners)], s.Name)
		next.entries[m.Name] = entry{method: &m, owners: owners}
	}
	return next, nil
}

// lookup finds the method that a client calls by name.
func (r *registry) lookup(name []byte) (*Method, *ApplicationException) {
	e, ok := r.entries[string(name)]
	switch {
	case !ok:
		return nil, exceptionf(UnknownMethod, "no method %q here", clip(name))
	case len(e.owners) > 1:
		return nil, exceptionf(UnknownMethod, "method %q is in the services %s: call one of them by %q",
			clip(name), strings.Join(e.owners, ", "), "Service:method")
	}
	return e.method, nil
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
