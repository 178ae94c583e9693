package gen

// The rules that turn names of IDL into names of Go.

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
)

// identify returns the exported Go name of an IDL name by Kitex's rules
// (thriftgo's golint style without initialisms, with compatible names): parts
// are joined at underscores with their first letter in upper case, an
// underscore stays before a part that starts with an upper-case letter or a
// digit, and names that look like those of generated declarations get an
// underscore at the end. A name that would not be exported gets an X.
//
//	user_id → UserId · MAX_SIZE → MAX_SIZE · fooBar → FooBar · NewItem → NewItem_ · _id → X_Id
func identify(name string) string {
	parts := strings.Split(name, "_")
	for i, s := range parts {
		switch {
		case s == "":
			parts[i] = "_"
		case i > 0 && (s[0] >= 'A' && s[0] <= 'Z' || s[0] >= '0' && s[0] <= '9'):
			parts[i] = "_" + s
		default:
			parts[i] = upperFirst(s)
		}
	}
	id := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_' // old IDL has dots and dashes in names
	}, strings.Join(parts, ""))
	if !token.IsExported(id) {
		id = "X" + id
	}
	if strings.HasPrefix(id, "New") || strings.HasSuffix(id, "Args") || strings.HasSuffix(id, "Result") {
		id += "_"
	}
	return id
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// taken are the lower-case names that generated function bodies rely on:
// keywords, predeclared identifiers, imported packages and local variables.
// Neither a parameter nor an imported package may have one of them.
var taken = strings.Fields(`
	stream 	break case chan const continue default defer else fallthrough for func go goto if import
	interface map package range return select struct switch type var
	any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64
	rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil
	append cap clear close complex copy delete imag len make max min new panic print println real recover
	bytes codec context diag errors fmt maps math rpc rpctest slices static strconv testing thriftwire
	tb p v r c h s ctx err args result reply all
`)

// local matches the further variables of generated methods, which a package
// that they use must not be named like.
var local = regexp.MustCompile(`^(b|depth|dst|f|head|i|j|n|o|seen|size|start|text|[a-z]\d+|block\d+|next\d+)$`)

// packageName makes a package name of the last part of a namespace.
func packageName(part string) string {
	name := strings.ToLower(part)
	switch {
	case name == "" || strings.Trim(name, "_") == "":
		return "pkg" + name
	case name[0] >= '0' && name[0] <= '9':
		return "p" + name
	case token.IsKeyword(name), name == "init", name == "main", strings.HasSuffix(name, "_test"):
		return name + "_"
	}
	return name
}

// pathParts splits a namespace into directory names.
func pathParts(namespace string) []string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == '/':
			return '/'
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			return r
		}
		return '_'
	}, namespace)
	var parts []string
	for _, p := range strings.Split(clean, "/") {
		if p != "" {
			parts = append(parts, gofile.Directory(p))
		}
	}
	return parts
}

// platforms are the file name endings that the go tool takes as constraints.
var platforms = strings.Fields(`
	test
	aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos
	386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle
	ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm
`)

// fileStem makes the name of a Go file, without its ending, of that of an IDL
// file, such that the go tool neither skips it nor builds it on some
// platforms only.
func fileStem(idl string) string {
	stem := strings.Join(pathParts(strings.ReplaceAll(idl, ".", "_")), "_")
	if strings.Trim(stem, "_") == "" || stem[0] == '_' {
		stem = "x" + stem
	}
	if i := strings.LastIndexByte(stem, '_'); i >= 0 && slices.Contains(platforms, stem[i+1:]) {
		stem += "_thrift"
	}
	return stem
}
