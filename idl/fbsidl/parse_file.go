package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
)

// What stands at the top of a file.

// skipStatement moves on from a statement that could not be read to the next
// one, which starts on a line of its own or after a brace or a semicolon.
func (p *parser) skipStatement(start int) {
	if p.At == start {
		p.Next()
	}
	for p.Peek().Kind != tokEOF {
		prev := p.Last().Kind
		if (p.Peek().NL || prev == '}' || prev == ';') && isStatement(p.word(0)) && p.PeekAt(1).Kind != ':' {
			return
		}
		p.Next()
	}
}

// statement reads an include or another statement.
func (p *parser) statement() bool {
	switch p.word(0) {
	case wordInclude:
		return p.include()
	case wordNativeInclude:
		return p.nativeInclude()
	case wordNamespace:
		return p.namespace()
	case wordAttribute:
		return p.attributeDecl()
	case wordRootType:
		p.Next()
		id, ok := p.dotted("the name of a table")
		if ok {
			p.add(&rootNode{id})
		}
		return ok && p.end(wordRootType)
	case wordFileIdentifier, wordFileExtension:
		return p.fileString(p.word(0))
	case wordEnum, wordUnion:
		return p.enumDecl()
	case wordTable, wordStruct:
		return p.structDecl()
	case wordService:
		return p.serviceDecl()
	}
	p.unexpectedStatement()
	return false
}

func (p *parser) add(n declNode) { p.file.decls = append(p.file.decls, n) }

// end reads the semicolon of a statement.
func (p *parser) end(what string) bool { return p.Expect(';', "after "+what) }

func (p *parser) unexpectedStatement() {
	t := p.Peek()
	if t.Kind == '{' {
		p.ErrorAt(codeData, "data stands in a schema").Hint = "flatc reads JSON here; keep data in a file of its own"
		return
	}
	d := p.Unexpected("a statement")
	near := diag.Nearest(p.word(0), statementWords)
	switch {
	case p.word(0) == "service":
		d.Hint = "did you mean 'rpc_service'?"
	case near != "":
		d.Hint = "did you mean '" + near + "'?"
	case t.Kind == '}':
		d.Hint = "there is one closing brace too many"
	case t.Kind == ';':
		d.Hint = "no semicolon stands after a brace"
	default:
		d.Hint = "a file holds " + strings.Join(statementWords, ", ")
	}
}

func (p *parser) include() bool {
	s, ok := p.path()
	if ok {
		p.file.includes = append(p.file.includes, &includeNode{s.text, s.pos})
	}
	return ok
}

func (p *parser) nativeInclude() bool {
	s, ok := p.path()
	p.file.natives = append(p.file.natives, &s)
	return ok
}

// path reads what follows an include, which must stand before other statements.
func (p *parser) path() (stringNode, bool) {
	first := p.Next()
	s, ok := p.stringNode("a path in quotes")
	if !ok || !p.end("the path") {
		return s, false
	}
	if len(p.file.decls) > 0 {
		p.Rep.Errorf(p.file.span(first.Pos), codeLateInclude, "%s stands after another statement", p.TextOf(first.Pos)).
			Hint = "move it to the top of the file"
	}
	return s, true
}

func (p *parser) namespace() bool {
	n := &namespaceNode{ident{"", p.Next().Pos}}
	if p.Peek().Kind != ';' {
		var ok bool
		if n.ident, ok = p.dotted("the name of a namespace"); !ok {
			return false
		}
		if parts := strings.Count(n.name, ".") + 1; parts > maxNamespaceSize {
			p.Rep.Errorf(p.file.span(n.pos), codeNamespaceDepth, "the namespace has %d parts, at most %d are allowed", parts, maxNamespaceSize)
		}
	}
	p.add(n)
	return p.end("the namespace")
}

func (p *parser) attributeDecl() bool {
	p.Next()
	if p.Peek().Kind == tokIdent {
		id, _ := p.name("")
		p.add(&attributeNode{stringNode{id.name, id.pos}})
		return p.end("the attribute")
	}
	s, ok := p.stringNode("the name of an attribute")
	if ok {
		p.add(&attributeNode{s})
	}
	return ok && p.end("the attribute")
}

func (p *parser) fileString(word string) bool {
	p.Next()
	s, ok := p.stringNode("a string")
	switch {
	case !ok:
		return false
	case word == wordFileIdentifier:
		p.add(&identifierNode{s})
	default:
		p.add(&extensionNode{s})
	}
	return p.end(word)
}

// declName reads the name, and the attributes if they come next, of what is
// declared.
func (p *parser) declName(b *declBase, what string) bool {
	var ok bool
	b.name, ok = p.name(what)
	return ok
}

func (p *parser) structDecl() bool {
	n := &structNode{declBase: declBase{doc: p.doc()}, fixed: p.word(0) == wordStruct}
	what := p.TextOf(p.Next().Pos)
	if !p.declName(&n.declBase, "the name of the "+what) || !p.meta(&n.meta) {
		return false
	}
	if !p.body("before the fields", func() bool { return p.field(n) }) {
		return false
	}
	p.add(n)
	return true
}

// field reads name: type = value (attributes);
func (p *parser) field(s *structNode) bool {
	f := &fieldNode{declBase: declBase{doc: p.doc()}}
	if !p.declName(&f.declBase, "the name of a field") || !p.Expect(':', "after the field's name") {
		return false
	}
	if f.typ = p.fieldType(); f.typ == nil {
		return false
	}
	if p.Accept('=') {
		if f.value = p.value(0); f.value == nil {
			return false
		}
	}
	if !p.meta(&f.meta) {
		return false
	}
	s.fields = append(s.fields, f)
	return p.Expect(';', "after the field")
}

// fieldType reads a name, [name] or [name:length].
func (p *parser) fieldType() *typeNode {
	start := p.Peek().Pos.Start
	if !p.Accept('[') {
		name, ok := p.dotted("a type")
		if !ok {
			return nil
		}
		return &typeNode{name: name, pos: name.pos}
	}
	if p.Peek().Kind == '[' {
		p.ErrorAt(codeNestedVector, "a vector cannot hold vectors").Hint = "put the inner vector in a table"
		return nil
	}
	name, ok := p.dotted("the type of the elements")
	if !ok {
		return nil
	}
	n := &typeNode{name: name, series: true}
	if p.Accept(':') {
		t := p.Peek()
		if t.Kind != tokInt {
			p.ErrorAt(codeArrayLength, "the length of an array is a number")
			return nil
		}
		p.Next()
		n.length = &valueNode{form: intForm, text: p.TextOf(t.Pos), pos: t.Pos}
	}
	if !p.Expect(']', "after the type of the elements") {
		return nil
	}
	n.pos = syntax.Between(start, p.LastEnd())
	return n
}

func (p *parser) enumDecl() bool {
	n := &enumNode{declBase: declBase{doc: p.doc()}, union: p.word(0) == wordUnion}
	what := p.TextOf(p.Next().Pos)
	if !p.declName(&n.declBase, "the name of the "+what) {
		return false
	}
	if p.Accept(':') {
		if n.base = p.fieldType(); n.base == nil {
			return false
		}
	}
	if !p.meta(&n.meta) {
		return false
	}
	closed := false
	if !p.body("before the values", func() bool {
		if closed {
			p.Unexpected("',' or '}' after the value")
			closed = false
			return false
		}
		ok := p.enumVal(n)
		closed = ok && !p.Accept(',')
		return ok
	}) {
		return false
	}
	if n.base == nil && !n.union {
		p.Rep.Errorf(p.file.span(n.name.pos), codeMissingBaseType, "the enum %s does not say what integers its values are", report.Clip(n.name.name)).
			Hint = "write enum " + report.Clip(n.name.name) + " : short, for example"
	}
	p.add(n)
	return true
}

// enumVal reads name = value (attributes), or [alias:]type = value (attributes)
// of a union.
func (p *parser) enumVal(n *enumNode) bool {
	v := &enumValNode{declBase: declBase{doc: p.doc()}}
	var ok bool
	if n.union {
		if v.name, ok = p.dotted("a table or an alias"); ok && p.Accept(':') {
			v.typ = p.fieldType()
			ok = v.typ != nil
		}
	} else {
		v.name, ok = p.name("the name of a value")
	}
	if !ok {
		return false
	}
	if p.Accept('=') {
		t := p.Peek()
		if t.Kind != tokInt {
			p.Unexpected("an integer")
			return false
		}
		p.Next()
		v.value = &valueNode{form: intForm, text: p.TextOf(t.Pos), pos: t.Pos}
	}
	if !p.meta(&v.meta) {
		return false
	}
	n.vals = append(n.vals, v)
	return true
}

func (p *parser) serviceDecl() bool {
	n := &serviceNode{declBase: declBase{doc: p.doc()}}
	p.Next()
	if !p.declName(&n.declBase, "the name of the service") || !p.meta(&n.meta) {
		return false
	}
	before := p.Rep.Errors
	if !p.body("before the methods", func() bool { return p.method(n) }) {
		return false
	}
	if len(n.methods) == 0 && p.Rep.Errors == before {
		p.Rep.Errorf(p.file.span(n.name.pos), codeSyntax, "the service %s has no method", report.Clip(n.name.name))
	}
	p.add(n)
	return true
}

// method reads name(request):response (attributes);
func (p *parser) method(s *serviceNode) bool {
	m := &methodNode{declBase: declBase{doc: p.doc()}}
	if !p.declName(&m.declBase, "the name of a method") || !p.Expect('(', "after the method's name") {
		return false
	}
	var ok bool
	if m.request, ok = p.dotted("the request's table"); !ok || !p.Expect(')', "after the request's table") || !p.Expect(':', "before the response's table") {
		return false
	}
	if m.response, ok = p.dotted("the response's table"); !ok || !p.meta(&m.meta) {
		return false
	}
	s.methods = append(s.methods, m)
	return p.Expect(';', "after the method")
}
