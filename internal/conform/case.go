package conform

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// This file reads the corpus.

// Case is one case of the corpus: a value and its bytes, or bytes and what
// comes of them.
type Case struct {
	Name   string // with the name of its file
	Schema string // IDL
	Type   *schema.Type
	Rules  Rules
	Value  *schema.Value // what the bytes mean; nil if all of them fail
	Writes bool          // whether encoding Value gives the bytes
	Bytes  []Bytes
}

// Bytes is an encoding.
type Bytes struct {
	Protocol Protocol
	Data     []byte
	Fault    *Fault // what decoding gives instead of a value, or nil
}

// Fault is the place and kind of an error.
type Fault struct {
	Code   string
	Offset int
	Path   string
}

// String renders f as the corpus has it.
func (f Fault) String() string {
	s := f.Code + " at " + strconv.Itoa(f.Offset)
	if f.Path != "" {
		s += " in " + f.Path
	}
	return s
}

// FaultOf returns what the corpus says of an error, or nil if it is not a *diag.Fault.
func FaultOf(err error) *Fault {
	f, ok := err.(*diag.Fault)
	if !ok {
		return nil
	}
	return &Fault{Code: f.Code.String(), Offset: f.Offset, Path: f.Path()}
}

// Corpus reads the cases in the files of dir. A file that cannot be read ends
// the test.
func Corpus(t testing.TB, dir string) []*Case {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus in %s", dir)
	}
	var cases []*Case
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := ParseCases(strings.TrimSuffix(filepath.Base(name), ".txt"), string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, found...)
	}
	return cases
}

// part is a keyword and what follows it.
type part struct {
	line          int
	keyword, text string
}

// parts splits a file: a keyword stands at the start of a line, and its text
// goes on over lines that are indented.
func parts(file string) []part {
	var out []part
	for i, line := range strings.Split(file, "\n") {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case line[0] == ' ' || line[0] == '\t':
			if len(out) > 0 {
				out[len(out)-1].text += "\n" + line
			}
		default:
			keyword, text, _ := strings.Cut(line, " ")
			out = append(out, part{i + 1, keyword, text})
		}
	}
	for i := range out {
		out[i].text = strings.TrimSpace(out[i].text)
	}
	return out
}

// ParseCases reads the text of a file of the corpus.
func ParseCases(file, text string) ([]*Case, error) {
	var cases []*Case
	var idl string
	var typ *schema.Type
	for _, p := range parts(text) {
		var c *Case
		if len(cases) > 0 {
			c = cases[len(cases)-1]
		}
		var err error
		switch {
		case p.keyword == "schema":
			idl = p.text
			typ, err = rootOf(idl)
		case p.keyword == "case":
			c = &Case{Name: file + "/" + p.text, Schema: idl, Type: typ}
			cases = append(cases, c)
			if typ == nil {
				err = fmt.Errorf("no schema yet")
			}
		case c == nil:
			err = fmt.Errorf("no case yet")
		default:
			err = c.add(p)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %v", p.line, p.keyword, err)
		}
	}
	for _, c := range cases {
		if len(c.Bytes) == 0 {
			return nil, fmt.Errorf("case %s has no bytes", c.Name)
		}
		for _, b := range c.Bytes {
			if c.Value == nil && b.Fault == nil {
				return nil, fmt.Errorf("case %s has neither a value nor a fault", c.Name)
			}
		}
	}
	return cases, nil
}

// rootOf returns the struct, union or exception T of a schema.
func rootOf(idl string) (*schema.Type, error) {
	f, list := thriftidl.Load("case.thrift", thriftidl.Sources(map[string][]byte{"case.thrift": []byte(idl)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		return nil, err
	}
	if f.Struct("T") == nil {
		return nil, fmt.Errorf("no struct T")
	}
	return f.Struct("T").Type(), nil
}

func (c *Case) add(p part) (err error) {
	switch p.keyword {
	case "value", "reads":
		c.Writes = p.keyword == "value"
		c.Value, err = Parse(c.Type, p.text)
	case "rules":
		for _, word := range strings.Fields(p.text) {
			if err := c.Rules.set(word); err != nil {
				return err
			}
		}
	case "fails":
		if len(c.Bytes) == 0 {
			return fmt.Errorf("no bytes yet")
		}
		c.Bytes[len(c.Bytes)-1].Fault, err = parseFault(p.text)
	default:
		i := slices.IndexFunc(Protocols[:], func(x Protocol) bool { return x.String() == p.keyword })
		if i < 0 {
			return fmt.Errorf("unknown keyword")
		}
		b := Bytes{Protocol: Protocols[i]}
		b.Data, err = parseBytes(p.text)
		c.Bytes = append(c.Bytes, b)
	}
	return err
}

func (r *Rules) set(word string) (err error) {
	name, arg, _ := strings.Cut(word, "=")
	switch name {
	case "strict":
		r.Strict = true
	case "check-unions":
		r.CheckUnions = true
	case "check-sets":
		r.CheckSets = true
	case "depth":
		r.MaxDepth, err = strconv.Atoi(arg)
	case "container":
		r.MaxContainer, err = strconv.Atoi(arg)
	default:
		err = fmt.Errorf("unknown rule %q", word)
	}
	return err
}

// parseFault reads "code at offset" or "code at offset in path".
func parseFault(text string) (*Fault, error) {
	head, path, _ := strings.Cut(text, " in ")
	code, at, _ := strings.Cut(head, " at ")
	offset, err := strconv.Atoi(at)
	return &Fault{Code: code, Offset: offset, Path: path}, err
}

// parseBytes reads hexadecimal digits with white space between, and text in
// single quotes, which has no escapes.
func parseBytes(text string) ([]byte, error) {
	var out []byte
	for i, piece := range strings.Split(text, "'") {
		if i%2 == 1 {
			out = append(out, piece...)
			continue
		}
		b, err := hex.DecodeString(strings.Join(strings.Fields(piece), ""))
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}
