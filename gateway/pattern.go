package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// This file holds route patterns and the tree that matches paths to them.

// anyMethod is the HTTP method of routes that take every method.
const anyMethod = "*"

// pattern is a parsed path such as /v1/items/:id.
type pattern struct {
	text     string
	segments []segment
}

type segment struct {
	kind segmentKind
	text string // the literal text, unescaped, or the parameter's name
}

type segmentKind uint8

const (
	literal   segmentKind = iota
	parameter             // :name
	remainder             // *name, always the last
)

// parsePattern parses the value of an api.get annotation and its like.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return p, fmt.Errorf("path %q does not start with /", text)
	}
	if strings.ContainsAny(text, "?#") {
		return p, fmt.Errorf("path %q holds a query or fragment", text)
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		s := segment{kind: literal, text: part}
		switch {
		case strings.HasPrefix(part, ":"):
			s = segment{parameter, part[1:]}
		case strings.HasPrefix(part, "*"):
			s = segment{remainder, part[1:]}
		default:
			plain, err := url.PathUnescape(part)
			if err != nil {
				return p, fmt.Errorf("path %q: %w", text, err)
			}
			s.text = plain
		}
		if s.kind != literal && s.text == "" {
			return p, fmt.Errorf("path %q has a parameter without a name", text)
		}
		if s.kind == remainder && i != len(parts)-1 {
			return p, fmt.Errorf("path %q goes on after *%s", text, s.text)
		}
		if s.kind != literal && p.index(s.text) >= 0 {
			return p, fmt.Errorf("path %q has two parameters named %s", text, s.text)
		}
		p.segments = append(p.segments, s)
	}
	return p, nil
}

// index returns the position of the parameter of that name among p's
// parameters, or -1.
func (p pattern) index(name string) int {
	n := 0
	for _, s := range p.segments {
		if s.kind == literal {
			continue
		}
		if s.text == name {
			return n
		}
		n++
	}
	return -1
}

// names returns the names of p's parameters.
func (p pattern) names() []string {
	var out []string
	for _, s := range p.segments {
		if s.kind != literal {
			out = append(out, s.text)
		}
	}
	return out
}

// node is a place in the tree of routes; the path to it is its pattern without
// the parameters' names.
type node struct {
	literals  map[string]*node
	parameter *node
	remainder *node
	routes    map[string]*route // by HTTP method, of the pattern that ends here
}

// add puts r into the tree below n. It returns the route that already stands
// there, if one does.
func (n *node) add(r *route) (taken *route) {
	for _, s := range r.pattern.segments {
		n = n.child(s)
	}
	if taken = n.routes[r.verb]; taken != nil {
		return taken
	}
	if n.routes == nil {
		n.routes = make(map[string]*route)
	}
	n.routes[r.verb] = r
	return nil
}

func (n *node) child(s segment) *node {
	switch s.kind {
	case parameter:
		if n.parameter == nil {
			n.parameter = new(node)
		}
		return n.parameter
	case remainder:
		if n.remainder == nil {
			n.remainder = new(node)
		}
		return n.remainder
	default:
		if n.literals == nil {
			n.literals = make(map[string]*node)
		}
		c := n.literals[s.text]
		if c == nil {
			c = new(node)
			n.literals[s.text] = c
		}
		return c
	}
}

// matcher looks one path up. A node is visited at most once, so a look-up
// costs no more than the tree is large, whatever the path.
type matcher struct {
	verb    string
	params  []string
	allowed []string // the methods of matching patterns that lack verb
}

// match returns the route for the escaped path, without its leading slash,
// below n, or nil. m.params then holds the parameters' values, unescaped.
func (m *matcher) match(n *node, path string) *route {
	part, rest, more := strings.Cut(path, "/")
	if len(n.literals) > 0 {
		if plain, err := url.PathUnescape(part); err == nil {
			if c := n.literals[plain]; c != nil {
				if r := m.descend(c, rest, more); r != nil {
					return r
				}
			}
		}
	}
	if n.parameter != nil && part != "" {
		if r := m.with(part, n.parameter, rest, more); r != nil {
			return r
		}
	}
	if n.remainder != nil {
		return m.with(path, n.remainder, "", false)
	}
	return nil
}

// with descends into c with one more parameter.
func (m *matcher) with(escaped string, c *node, rest string, more bool) *route {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return nil
	}
	m.params = append(m.params, plain)
	if r := m.descend(c, rest, more); r != nil {
		return r
	}
	m.params = m.params[:len(m.params)-1]
	return nil
}

func (m *matcher) descend(n *node, rest string, more bool) *route {
	if more {
		return m.match(n, rest)
	}
	if r := n.route(m.verb); r != nil {
		return r
	}
	for verb := range n.routes {
		if !slices.Contains(m.allowed, verb) {
			m.allowed = append(m.allowed, verb)
		}
	}
	return nil
}

// route returns what answers verb here, or nil. A route for GET answers HEAD
// too, as net/http leaves the body out.
func (n *node) route(verb string) *route {
	if r := n.routes[verb]; r != nil {
		return r
	}
	if r := n.routes["GET"]; r != nil && verb == "HEAD" {
		return r
	}
	return n.routes[anyMethod]
}
