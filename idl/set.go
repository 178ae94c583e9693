package idl

import (
	"fmt"
	"sort"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds what was loaded at one time.

// Set is the schema of some IDL as it was when it was loaded. It is immutable
// and safe for concurrent use.
type Set struct {
	files    []*schema.File
	services map[string][]found
	warnings diag.List
}

// found is a service and the file that declares it.
type found struct {
	service *schema.Service
	file    *schema.File
}

func newSet(files []*schema.File, warnings diag.List) *Set {
	s := &Set{files: files, warnings: warnings, services: map[string][]found{}}
	seen := map[*schema.File]bool{}
	for _, f := range files {
		s.add(f, seen)
	}
	// What is only included comes after, and only where nothing else has the name.
	roots := make(map[string]bool, len(s.services))
	for name := range s.services {
		roots[name] = true
	}
	for _, f := range files {
		s.include(f, roots, seen)
	}
	return s
}

func (s *Set) add(f *schema.File, seen map[*schema.File]bool) {
	if seen[f] {
		return
	}
	seen[f] = true
	for _, service := range f.Services() {
		s.services[service.Name()] = append(s.services[service.Name()], found{service, f})
	}
}

// include adds the services of what f includes, but for names that are taken.
func (s *Set) include(f *schema.File, taken map[string]bool, seen map[*schema.File]bool) {
	for _, i := range f.Includes() {
		if seen[i.File] {
			continue
		}
		seen[i.File] = true
		for _, service := range i.File.Services() {
			if name := service.Name(); !taken[name] {
				s.services[name] = append(s.services[name], found{service, i.File})
			}
		}
		s.include(i.File, taken, seen)
	}
}

// Files returns the files that the origin names, without those that are only
// included, in the order of their paths.
func (s *Set) Files() []*schema.File { return s.files }

// Warnings returns what the IDL was warned of.
func (s *Set) Warnings() diag.List { return s.warnings }

// Service returns the service of that name, or of that name and file, as in
// "v2/shop.thrift:Shop", where the front of the path may be left out. The name may have
// its package or namespace before it. Services of
// included files are found too if the files of the origin have none of the name. The
// error says which services there are, or which files have the name.
func (s *Set) Service(name string) (*schema.Service, error) {
	path, service := "", name
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		path, service = name[:i], name[i+1:]
	}
	short := service[strings.LastIndexByte(service, '.')+1:]
	var all []found
	for _, f := range s.services[short] {
		if short != service && f.service.FullName() != service {
			continue
		}
		if path == "" || f.file.Path() == path || strings.HasSuffix(f.file.Path(), "/"+path) {
			all = append(all, f)
		}
	}
	switch len(all) {
	case 1:
		return all[0].service, nil
	case 0:
		return nil, fmt.Errorf("idl: no service %q; there are %s", name, s.names())
	}
	paths := make([]string, len(all))
	for i, f := range all {
		paths[i] = f.file.Path()
	}
	return nil, fmt.Errorf("idl: service %q is in %s", name, strings.Join(paths, ", "))
}

// maxNames bounds how many services an error names.
const maxNames = 20

func (s *Set) names() string {
	var all []string
	for name := range s.services {
		all = append(all, name)
	}
	sort.Strings(all)
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > maxNames:
		return strings.Join(all[:maxNames], ", ") + " and others"
	}
	return strings.Join(all, ", ")
}
