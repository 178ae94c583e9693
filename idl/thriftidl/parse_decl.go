package thriftidl

// Declarations: structs with their fields, enums, typedefs, constants and
// services with their methods. Each function returns nil if it cannot go on.

func (p *parser) structDecl(base declBase) declNode {
	n := &structNode{declBase: base, kw: p.Next().Own.kw}
	var ok bool
	if n.name, ok = p.declName("the name of the "+n.kw.String(), false); !ok {
		return nil
	}
	if t := p.Peek(); t.Own.kw == kwXsdAll {
		p.Next()
		n.annots = append(n.annots, p.wordAnnotation(t))
	}
	if !p.body('{', '}', "before the fields", func() bool { return p.field(&n.fields) }) {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

// field reads one field, argument or exception of a throws clause.
func (p *parser) field(fields *[]*fieldDecl) bool {
	f := &fieldDecl{declBase: declBase{doc: p.docBefore()}}
	var ok bool
	if f.annots, ok = p.structuredAnnotations(); !ok {
		return false
	}
	f.doc = p.docAfterAnnotations(f.doc)
	if k := p.Peek().Kind; k == tokInt || k == '-' || k == '+' {
		if f.id, ok = p.intLiteral(); !ok {
			return false
		}
		if !p.Expect(':', "after the field's id") {
			return false
		}
	}
	// A type may be called "required", so the word must have a type after it.
	if t := p.Peek(); (t.Own.kw == kwRequired || t.Own.kw == kwOptional) && p.PeekAt(1).Kind == tokIdent {
		p.Next()
		f.req, f.reqPos = t.Own.kw, t.Pos
	}
	if f.typ, ok = p.fieldType(0); !ok {
		return false
	}
	if t := p.Peek(); t.Kind == '&' {
		p.Next()
		f.annots = append(f.annots, &annotNode{name: ident{name: "cpp.ref", pos: t.Pos}, pos: t.Pos})
	}
	if f.name, ok = p.declName("the name of the field", true); !ok {
		return false
	}
	if p.Accept('=') {
		if f.value, ok = p.value(0); !ok {
			return false
		}
	}
	if !p.xsd(f) {
		return false
	}
	if f.annots, ok = p.annotations(f.annots); !ok {
		return false
	}
	p.separator()
	f.doc = p.inlineDoc(f.doc)
	*fields = append(*fields, f)
	return true
}

// xsd reads the leftovers of XML schemas after a field.
func (p *parser) xsd(f *fieldDecl) bool {
	for _, kw := range []keyword{kwXsdOptional, kwXsdNillable} {
		if t := p.Peek(); t.Own.kw == kw {
			p.Next()
			f.annots = append(f.annots, p.wordAnnotation(t))
		}
	}
	if t := p.Peek(); t.Own.kw == kwXsdAttrs {
		p.Next()
		var attrs []*fieldDecl
		return p.body('{', '}', "before the attributes", func() bool { return p.field(&attrs) })
	}
	return true
}

// wordAnnotation makes a word of the grammar an annotation without a value.
func (p *parser) wordAnnotation(t *token) *annotNode {
	return &annotNode{name: ident{name: p.TextOf(t.Pos), pos: t.Pos}, pos: t.Pos}
}

func (p *parser) enumDecl(base declBase) declNode {
	p.Next()
	n := &enumNode{declBase: base}
	var ok bool
	if n.name, ok = p.declName("the name of the enum", false); !ok {
		return nil
	}
	if !p.body('{', '}', "before the enum's names", func() bool { return p.enumValue(n) }) {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

func (p *parser) enumValue(n *enumNode) bool {
	v := &enumValueNode{declBase: declBase{doc: p.docBefore()}}
	var ok bool
	if v.annots, ok = p.structuredAnnotations(); !ok {
		return false
	}
	v.doc = p.docAfterAnnotations(v.doc)
	if v.name, ok = p.declName("a name of the enum", false); !ok {
		return false
	}
	if p.Accept('=') {
		if v.value, ok = p.intLiteral(); !ok {
			return false
		}
	}
	if v.annots, ok = p.annotations(v.annots); !ok {
		return false
	}
	p.separator()
	v.doc = p.inlineDoc(v.doc)
	n.values = append(n.values, v)
	return true
}

// senumDecl reads an enum of strings, which was always only a string.
func (p *parser) senumDecl(base declBase) declNode {
	word := p.Next()
	n := &typedefNode{declBase: base}
	var ok bool
	if n.name, ok = p.declName("the name of the senum", false); !ok {
		return nil
	}
	n.target = &typeNode{name: ident{name: "string", pos: word.Pos, kw: kwString}, pos: word.Pos}
	p.Rep.Warnf(p.file.span(word.Pos), codeDeprecatedSyntax, "senum is no longer Thrift, it is read as a typedef of string")
	if !p.body('{', '}', "before the senum's strings", func() bool {
		_, _, ok := p.stringLiteral("a string")
		p.separator()
		return ok
	}) {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

func (p *parser) typedefDecl(base declBase) declNode {
	p.Next()
	n := &typedefNode{declBase: base}
	var ok bool
	if n.target, ok = p.fieldType(0); !ok {
		return nil
	}
	if n.name, ok = p.declName("the name of the typedef", false); !ok {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

func (p *parser) constDecl(base declBase) declNode {
	p.Next()
	n := &constNode{declBase: base}
	var ok bool
	if n.typ, ok = p.fieldType(0); !ok {
		return nil
	}
	if n.name, ok = p.declName("the name of the constant", false); !ok {
		return nil
	}
	if !p.Expect('=', "before the constant's value") {
		return nil
	}
	if n.value, ok = p.value(0); !ok {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

func (p *parser) serviceDecl(base declBase) declNode {
	p.Next()
	n := &serviceNode{declBase: base}
	var ok bool
	if n.name, ok = p.declName("the name of the service", false); !ok {
		return nil
	}
	if p.acceptWord(kwExtends) {
		parent, ok := p.name("the name of a service")
		if !ok {
			return nil
		}
		n.extends = &parent
	}
	if !p.body('{', '}', "before the methods", func() bool { return p.method(n) }) {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

func (p *parser) interactionDecl(base declBase) declNode {
	p.Next()
	n := &interactionNode{declBase: base}
	var ok bool
	if n.name, ok = p.declName("the name of the interaction", false); !ok {
		return nil
	}
	ignored := &serviceNode{}
	if !p.body('{', '}', "before the methods", func() bool { return p.method(ignored) }) {
		return nil
	}
	if n.annots, ok = p.annotations(n.annots); !ok {
		return nil
	}
	return n
}

// method reads a method, or the name of an interaction that a service performs.
func (p *parser) method(s *serviceNode) bool {
	if p.Peek().Own.kw == kwPerforms && p.PeekAt(1).Kind == tokIdent && p.PeekAt(2).Kind != '(' {
		p.Next()
		id, _ := p.name("the name of an interaction")
		p.separator()
		s.performs = append(s.performs, id)
		return true
	}
	m := &methodNode{declBase: declBase{doc: p.docBefore()}}
	var ok bool
	if m.annots, ok = p.structuredAnnotations(); !ok {
		return false
	}
	m.doc = p.docAfterAnnotations(m.doc)
	p.methodQualifier(m)
	if !p.returns(m) {
		return false
	}
	if m.name, ok = p.declName("the name of the method", false); !ok {
		return false
	}
	if !p.body('(', ')', "before the arguments", func() bool { return p.field(&m.args) }) {
		return false
	}
	if m.throws, m.throwsPos, ok = p.throws(); !ok {
		return false
	}
	if m.annots, ok = p.annotations(m.annots); !ok {
		return false
	}
	p.separator()
	m.doc = p.inlineDoc(m.doc)
	s.methods = append(s.methods, m)
	return true
}

// methodQualifier reads oneway, or fbthrift's idempotent and readonly. The
// latter may also be the name of a type.
func (p *parser) methodQualifier(m *methodNode) {
	t := p.Peek()
	if p.PeekAt(1).Kind != tokIdent {
		return
	}
	switch t.Own.kw {
	case kwAsync:
		p.Rep.Warnf(p.file.span(t.Pos), codeDeprecatedSyntax, "async is the former name of oneway").
			Hint = "write oneway"
		fallthrough
	case kwOneway:
		p.Next()
		m.oneway, m.onewayPos = true, t.Pos
	case kwIdempotent, kwReadonly:
		if p.PeekAt(2).Kind == '(' {
			return
		}
		p.Next()
		m.annots = append(m.annots, p.wordAnnotation(t))
	}
}

// throws reads an optional throws clause.
func (p *parser) throws() (fields []*fieldDecl, place pos, ok bool) {
	t := p.Peek()
	if t.Own.kw != kwThrows {
		return nil, pos{}, true
	}
	p.Next()
	ok = p.body('(', ')', "before the exceptions", func() bool { return p.field(&fields) })
	return fields, t.Pos, ok
}

// returns reads what a method returns: void, a type, and fbthrift's streams:
// [type ","] (stream<…> | sink<…>) ["," stream<…>].
func (p *parser) returns(m *methodNode) bool {
	for part := 0; ; part++ {
		t := p.Peek()
		stream := (t.Own.kw == kwStream || t.Own.kw == kwSink) && p.PeekAt(1).Kind == '<'
		var ok bool
		switch {
		case stream && t.Own.kw == kwStream:
			ok = p.stream(m)
		case stream:
			ok = p.sink(m)
		case part > 0 && m.stream != nil || part > 1:
			p.ErrorAt(codeStreamElement, "expected stream<…> or sink<…>, found %s", p.Describe(t))
		default:
			// After a type comes a stream, or the type names an interaction and
			// what it returns first comes now.
			m.interaction = m.result
			ok = p.result(m)
		}
		if !ok {
			return false
		}
		if !p.Accept(',') {
			return true
		}
	}
}

func (p *parser) result(m *methodNode) bool {
	if p.acceptWord(kwVoid) {
		return true
	}
	var ok bool
	m.result, ok = p.fieldType(0)
	return ok
}

func (p *parser) stream(m *methodNode) bool {
	p.Next()
	p.Next()
	if m.stream == nil {
		m.stream = &streamNode{}
	}
	s := m.stream
	if s.server != nil {
		p.ErrorAt(codeStreamElement, "the method has two streams")
	}
	var ok bool
	if s.server, s.serverThrows, ok = p.typeThrows(); !ok {
		return false
	}
	return p.Expect('>', "after the stream's type")
}

func (p *parser) sink(m *methodNode) bool {
	p.Next()
	p.Next()
	if m.stream != nil {
		p.ErrorAt(codeStreamElement, "the sink must stand before the stream, and there can be only one")
	}
	s := &streamNode{}
	m.stream = s
	var ok bool
	if s.client, s.clientThrows, ok = p.typeThrows(); !ok {
		return false
	}
	if p.Accept(',') {
		if s.final, s.finalThrows, ok = p.typeThrows(); !ok {
			return false
		}
	}
	return p.Expect('>', "after the sink's types")
}

func (p *parser) typeThrows() (t *typeNode, fields []*fieldDecl, ok bool) {
	if t, ok = p.fieldType(0); !ok {
		return nil, nil, false
	}
	fields, _, ok = p.throws()
	return t, fields, ok
}
