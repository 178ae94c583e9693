package thriftidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// What stands at the top of a file: headers and declarations.

func (p *parser) parseFile() {
	first := p.Peek()
	if p.firstDoc != 0 && (p.firstDoc != first.Own.doc || p.isHeader()) {
		p.file.doc = p.docText(p.firstDoc)
	}
	for p.Peek().Kind != tokEOF {
		start := p.At
		p.Part = start
		if !p.statement() {
			p.skipStatement(start)
		}
	}
}

// isHeader reports whether the next token starts an include, a namespace or a
// package statement.
func (p *parser) isHeader() bool {
	t := p.Peek()
	switch t.Own.kw {
	case kwInclude, kwCppInclude, kwHsInclude, kwNamespace, kwPackage:
		return true
	}
	return t.Kind == tokIdent && legacyNamespaces[p.TextOf(t.Pos)] != ""
}

// skipStatement moves on from a statement that could not be read to the next
// one, which starts on a line of its own or after a closing brace.
func (p *parser) skipStatement(start int) {
	if p.At == start {
		p.Next()
	}
	for p.Peek().Kind != tokEOF {
		t := p.Peek()
		if t.NL || p.Last().Kind == '}' {
			if t.Kind == '@' || p.isHeader() && p.PeekAt(1).Kind != '(' {
				return
			}
			switch t.Own.kw {
			case kwStruct, kwUnion, kwException, kwEnum, kwSenum, kwService, kwInteraction, kwConst, kwTypedef:
				return
			}
		}
		p.Next()
	}
}

// statement reads a header or a declaration.
func (p *parser) statement() bool {
	doc := p.docBefore()
	first := p.Peek()
	annots, ok := p.structuredAnnotations()
	if !ok {
		return false
	}
	if p.isHeader() {
		if len(annots) > 0 && p.Peek().Own.kw != kwPackage {
			p.Rep.Errorf(p.file.span(annots[0].pos), codeMisplacedAnnotation, "nothing here can carry an annotation")
		}
		if len(p.file.decls) > 0 {
			p.Rep.Warnf(p.file.span(p.Peek().Pos), codeLateHeader, "%s stands after a declaration", p.Describe(p.Peek())).
				Hint = "the Apache compiler and thriftgo want includes and namespaces before all declarations"
		}
		return p.header(annots)
	}
	base := declBase{doc: p.docAfterAnnotations(doc), annots: annots}
	p.exceptionQualifiers(&base)
	var decl declNode
	switch t := p.Peek(); t.Own.kw {
	case kwStruct, kwUnion, kwException:
		decl = p.structDecl(base)
	case kwEnum:
		decl = p.enumDecl(base)
	case kwSenum:
		decl = p.senumDecl(base)
	case kwTypedef:
		decl = p.typedefDecl(base)
	case kwConst:
		decl = p.constDecl(base)
	case kwService:
		decl = p.serviceDecl(base)
	case kwInteraction:
		decl = p.interactionDecl(base)
	default:
		p.unexpectedStatement(t)
		return false
	}
	if decl == nil {
		return false
	}
	if p.At == 0 || first == p.Peek() {
		return false
	}
	p.file.decls = append(p.file.decls, decl)
	p.separator()
	return true
}

func (p *parser) unexpectedStatement(t *token) {
	d := p.Unexpected("a declaration")
	if t.Kind == tokIdent {
		if near := diag.Nearest(p.TextOf(t.Pos), statementWords); near != "" {
			d.Hint = "did you mean '" + near + "'?"
			return
		}
	}
	if t.Kind == '}' {
		d.Hint = "there is one closing brace too many"
		return
	}
	d.Hint = "a file holds include, namespace, typedef, const, enum, struct, union, exception and service"
}

var statementWords = []string{
	"struct", "union", "exception", "enum", "service", "typedef", "const", "include", "namespace", "package",
	"cpp_include", "interaction",
}

func (p *parser) header(annots []*annotNode) bool {
	t := p.Next()
	start := t.Pos.Start
	switch t.Own.kw {
	case kwInclude:
		return p.include()
	case kwCppInclude, kwHsInclude:
		if _, _, ok := p.stringLiteral("the name of a header in quotes"); !ok {
			return false
		}
	case kwPackage:
		pkg := &packageNode{annots: annots}
		if p.Peek().Kind != ';' {
			name, _, ok := p.stringLiteral("the package's name in quotes")
			if !ok {
				return false
			}
			pkg.name = name
		}
		pkg.pos = syntax.Between(start, p.LastEnd())
		p.file.pkg = pkg
	case kwNamespace:
		return p.namespace(start)
	default:
		word := p.TextOf(t.Pos)
		language := legacyNamespaces[word]
		p.Rep.Warnf(p.file.span(t.Pos), codeDeprecatedSyntax, "%s is no longer Thrift", word).
			Hint = "write: namespace " + language + " …"
		return p.namespaceName(start, ident{name: language, pos: t.Pos})
	}
	p.separator()
	return true
}

func (p *parser) include() bool {
	path, place, ok := p.stringLiteral("the path of a file in quotes")
	if !ok {
		return false
	}
	inc := &includeNode{path: path, pos: place}
	if p.Peek().Own.kw == kwAs && !p.Peek().NL {
		p.Next()
		alias, ok := p.declName("the name to include the file under", true)
		if !ok {
			return false
		}
		inc.alias = alias.name
	}
	p.file.includes = append(p.file.includes, inc)
	p.separator()
	return true
}

func (p *parser) namespace(start int32) bool {
	t := p.Peek()
	if t.Kind == '*' {
		p.Next()
		return p.namespaceName(start, ident{name: "*", pos: t.Pos})
	}
	language, ok := p.name("a language or '*'")
	return ok && p.namespaceName(start, language)
}

func (p *parser) namespaceName(start int32, language ident) bool {
	n := &namespaceNode{language: language}
	var ok bool
	if p.Peek().Kind == tokString {
		n.name, _, ok = p.stringLiteral("")
	} else {
		var id ident
		id, ok = p.name("the name of the namespace")
		n.name = id.name
	}
	if !ok {
		return false
	}
	if n.annots, ok = p.annotations(nil); !ok {
		return false
	}
	n.pos = syntax.Between(start, p.LastEnd())
	p.file.namespaces = append(p.file.namespaces, n)
	p.separator()
	return true
}

// exceptionQualifiers reads fbthrift's words before "exception", which become
// annotations of the same names.
func (p *parser) exceptionQualifiers(base *declBase) {
	n := 0
	for ; n < 3; n++ {
		switch p.PeekAt(n).Own.kw {
		case kwSafe, kwTransient, kwStateful, kwPermanent, kwClient, kwServer:
			continue
		}
		break
	}
	if n == 0 || p.PeekAt(n).Own.kw != kwException {
		return
	}
	for range n {
		t := p.Next()
		base.annots = append(base.annots, &annotNode{name: ident{name: p.TextOf(t.Pos), pos: t.Pos}, pos: t.Pos})
	}
}

// cleanDoc takes the delimiters, the stars and the common white space off a
// documentation comment.
func cleanDoc(comment string) string {
	comment = strings.ReplaceAll(strings.ReplaceAll(comment, "\r\n", "\n"), "\r", "\n")
	var lines []string
	if rest, ok := strings.CutPrefix(comment, "/**"); ok {
		rest = strings.TrimPrefix(strings.TrimSuffix(rest, "*/"), "<")
		lines = strings.Split(strings.TrimRight(rest, "* \t\n"), "\n")
		for i, line := range lines {
			line = strings.TrimRight(line, " \t")
			if i > 0 {
				if t := strings.TrimLeft(line, " \t"); strings.HasPrefix(t, "*") {
					line = strings.TrimPrefix(t, "*")
				}
			}
			lines[i] = line
		}
		lines[0] = strings.TrimLeft(lines[0], " \t")
		dedent(lines[1:])
	} else {
		lines = strings.Split(comment, "\n")
		kept := lines[:0]
		for _, line := range lines {
			line = strings.TrimLeft(line, " \t")
			if line == "" {
				continue // between two comments that make one
			}
			line = strings.TrimPrefix(strings.TrimPrefix(line, "///"), "<")
			kept = append(kept, strings.TrimRight(line, " \t"))
		}
		lines = kept
		dedent(lines)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// dedent removes the white space that all lines that are not empty start with.
func dedent(lines []string) {
	common := -1
	for _, line := range lines {
		if line == "" {
			continue
		}
		n := len(line) - len(strings.TrimLeft(line, " \t"))
		if common < 0 || n < common {
			common = n
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(common, 0), len(line)):]
	}
}
