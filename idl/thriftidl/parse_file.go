package thriftidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
)

// What stands at the top of a file: headers and declarations.

func (p *parser) parseFile() {
	first := p.peek()
	if p.firstDoc != 0 && (p.firstDoc != first.doc || p.isHeader()) {
		p.file.doc = p.docText(p.firstDoc)
	}
	for p.peek().kind != tokEOF {
		start := p.at
		p.part = start
		if !p.statement() {
			p.skipStatement(start)
		}
	}
}

// isHeader reports whether the next token starts an include, a namespace or a
// package statement.
func (p *parser) isHeader() bool {
	t := p.peek()
	switch t.kw {
	case kwInclude, kwCppInclude, kwHsInclude, kwNamespace, kwPackage:
		return true
	}
	return t.kind == tokIdent && legacyNamespaces[p.textOf(t.span)] != ""
}

// skipStatement moves on from a statement that could not be read to the next
// one, which starts on a line of its own or after a closing brace.
func (p *parser) skipStatement(start int) {
	if p.at == start {
		p.next()
	}
	for p.peek().kind != tokEOF {
		t := p.peek()
		if t.nl || p.tokens[p.at-1].kind == '}' {
			if t.kind == '@' || p.isHeader() && p.peekAt(1).kind != '(' {
				return
			}
			switch t.kw {
			case kwStruct, kwUnion, kwException, kwEnum, kwSenum, kwService, kwInteraction, kwConst, kwTypedef:
				return
			}
		}
		p.next()
	}
}

// statement reads a header or a declaration.
func (p *parser) statement() bool {
	doc := p.docBefore()
	first := p.peek()
	annots, ok := p.structuredAnnotations()
	if !ok {
		return false
	}
	if p.isHeader() {
		if len(annots) > 0 && p.peek().kw != kwPackage {
			p.rep.Errorf(p.file.span(annots[0].pos), codeMisplacedAnnotation, "nothing here can carry an annotation")
		}
		if len(p.file.decls) > 0 {
			p.rep.Warnf(p.file.span(p.peek().span), codeLateHeader, "%s stands after a declaration", p.describe(p.peek())).
				Hint = "the Apache compiler and thriftgo want includes and namespaces before all declarations"
		}
		return p.header(annots)
	}
	base := declBase{doc: p.docAfterAnnotations(doc), annots: annots}
	p.exceptionQualifiers(&base)
	var decl declNode
	switch t := p.peek(); t.kw {
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
	if p.at == 0 || first == p.peek() {
		return false
	}
	p.file.decls = append(p.file.decls, decl)
	p.separator()
	return true
}

func (p *parser) unexpectedStatement(t *token) {
	d := p.unexpected("a declaration")
	if t.kind == tokIdent {
		if near := diag.Nearest(p.textOf(t.span), statementWords); near != "" {
			d.Hint = "did you mean '" + near + "'?"
			return
		}
	}
	if t.kind == '}' {
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
	t := p.next()
	start := t.span.start
	switch t.kw {
	case kwInclude:
		return p.include()
	case kwCppInclude, kwHsInclude:
		if _, _, ok := p.stringLiteral("the name of a header in quotes"); !ok {
			return false
		}
	case kwPackage:
		pkg := &packageNode{annots: annots}
		if p.peek().kind != ';' {
			name, _, ok := p.stringLiteral("the package's name in quotes")
			if !ok {
				return false
			}
			pkg.name = name
		}
		pkg.pos = pos{start, p.prevEnd()}
		p.file.pkg = pkg
	case kwNamespace:
		return p.namespace(start)
	default:
		word := p.textOf(t.span)
		language := legacyNamespaces[word]
		p.rep.Warnf(p.file.span(t.span), codeDeprecatedSyntax, "%s is no longer Thrift", word).
			Hint = "write: namespace " + language + " …"
		return p.namespaceName(start, ident{name: language, pos: t.span})
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
	if p.peek().kw == kwAs && !p.peek().nl {
		p.next()
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
	t := p.peek()
	if t.kind == '*' {
		p.next()
		return p.namespaceName(start, ident{name: "*", pos: t.span})
	}
	language, ok := p.name("a language or '*'")
	return ok && p.namespaceName(start, language)
}

func (p *parser) namespaceName(start int32, language ident) bool {
	n := &namespaceNode{language: language}
	var ok bool
	if p.peek().kind == tokString {
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
	n.pos = pos{start, p.prevEnd()}
	p.file.namespaces = append(p.file.namespaces, n)
	p.separator()
	return true
}

// exceptionQualifiers reads fbthrift's words before "exception", which become
// annotations of the same names.
func (p *parser) exceptionQualifiers(base *declBase) {
	n := 0
	for ; n < 3; n++ {
		switch p.peekAt(n).kw {
		case kwSafe, kwTransient, kwStateful, kwPermanent, kwClient, kwServer:
			continue
		}
		break
	}
	if n == 0 || p.peekAt(n).kw != kwException {
		return
	}
	for range n {
		t := p.next()
		base.annots = append(base.annots, &annotNode{name: ident{name: p.textOf(t.span), pos: t.span}, pos: t.span})
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
