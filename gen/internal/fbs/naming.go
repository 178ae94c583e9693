package fbs

// The rules that turn names of a schema into names of Go: those of Google's
// compiler, so that code written for its output compiles against ours.

import (
	"go/token"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
)

// camel returns the name of a field as a part of Go names. It is put into
// snake case first, where an upper-case letter after a lower-case one begins a
// word, as does what follows digits.
//
//	hit_points → HitPoints · aBc → ABc · UPPER_CASE → UpperCase · _id → _Id · a__b → A_b
func camel(name string, upper bool) string {
	name = snake(name)
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case i == 0 && c == '_':
			out = append(out, c)
			if len(name) > 1 && isLetter(name[1]) {
				i++
				out = append(out, toUpper(name[i]))
			}
		case i == 0 && upper:
			out = append(out, toUpper(c))
		case i == 0:
			out = append(out, toLower(c))
		case c == '_' && i+1 < len(name):
			i++
			out = append(out, toUpper(name[i]))
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func snake(name string) string {
	out := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		c := name[i]
		if i > 0 && c != '_' && !isLower(c) {
			before := name[i-1]
			if isLower(before) || isDigit(before) && !isDigit(c) {
				out = append(out, '_')
			}
		}
		out = append(out, toLower(c))
	}
	return string(out)
}

func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return isLower(c) || isUpper(c) }

func toUpper(c byte) byte {
	if isLower(c) {
		return c - 'a' + 'A'
	}
	return c
}

func toLower(c byte) byte {
	if isUpper(c) {
		return c - 'A' + 'a'
	}
	return c
}

// escape puts an underscore behind a keyword of Go.
func escape(name string) string {
	if token.IsKeyword(name) {
		return name + "_"
	}
	return name
}

// taken are the names that generated code relies on: those that Go declares,
// imported packages, and local variables; and the one that names nothing. No declaration gets one of them.
var taken = slices.Concat(variables, strings.Fields(`
	_ any bool byte error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64
	true false nil append cap clear copy len make new panic
	cmp context flatbuf flatrpc flexbuf fmt init io main math rpc strconv
`))

// variables are the local variables of generated code. A type may be known by such a name,
// if it has another by which generated code refers to it.
var variables = strings.Fields(`
	a at b buf builder c code ctx d each end err full h i j k key m n next o o1 o2 obj obj1 obj2 off offset ok opts out p pos rcv req rsp refs
	s start t table u v vectorLocation vt wide x
`)

// locals are those of the variables that only packages must not have the name of.
var locals = []string{"in", "recv"}

// pathParts splits the path of a Go package into directories, with what may
// not stand in one replaced.
func pathParts(path string) []string {
	var parts []string
	for _, p := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		p = strings.Map(func(r rune) rune {
			switch {
			case r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r))), strings.ContainsRune("-._~", r):
				return r
			}
			return '_'
		}, p)
		if strings.Trim(p, ".") == "" {
			p = strings.ReplaceAll(p, ".", "_")
		}
		parts = append(parts, gofile.Directory(p))
	}
	return parts
}

// packageName makes the name of a package of the last part of its path.
func packageName(part string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return '_'
	}, part)
	switch {
	case strings.Trim(name, "_") == "":
		return "pkg" + name
	case isDigit(name[0]):
		return "p" + name
	case token.IsKeyword(name), name == "main", strings.HasSuffix(name, "_test"):
		return name + "_"
	}
	return name
}
