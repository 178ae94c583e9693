package thriftidl

import "github.com/thrum-rpc/thrum/diag"

// The syntax tree of one file. Every node has its place; names are kept as
// written and nothing is resolved.

type fileNode struct {
	src        *diag.Source
	doc        string
	pkg        *packageNode
	namespaces []*namespaceNode
	includes   []*includeNode
	decls      []declNode
}

func (f *fileNode) span(p pos) diag.Span {
	return p.In(f.src)
}

// ident is a name, perhaps with dots.
type ident struct {
	name string
	pos  pos
	kw   keyword // what else the name means
}

type packageNode struct {
	name   string
	annots []*annotNode
	pos    pos
}

type namespaceNode struct {
	language ident
	name     string
	annots   []*annotNode
	pos      pos
}

type includeNode struct {
	path  string
	alias string // given by "as", or ""
	pos   pos    // of the path
}

// declNode is a declaration.
type declNode interface{ base() *declBase }

type declBase struct {
	name   ident
	doc    string
	annots []*annotNode
}

func (d *declBase) base() *declBase { return d }

type structNode struct {
	declBase
	kw     keyword // kwStruct, kwUnion or kwException
	fields []*fieldDecl
}

type enumNode struct {
	declBase
	values []*enumValueNode
}

type enumValueNode struct {
	declBase
	value *intNode // nil if none was given
}

type typedefNode struct {
	declBase
	target *typeNode
}

type constNode struct {
	declBase
	typ   *typeNode
	value *valueNode
}

type serviceNode struct {
	declBase
	extends  *ident
	methods  []*methodNode
	performs []ident
}

// interactionNode is fbthrift's interaction, of which only the name is used.
type interactionNode struct{ declBase }

type fieldDecl struct {
	declBase
	id     *intNode // nil if none was given
	req    keyword  // kwRequired, kwOptional or kwNone
	reqPos pos
	typ    *typeNode
	value  *valueNode // nil if none was given
}

type methodNode struct {
	declBase
	oneway    bool
	onewayPos pos
	result    *typeNode // nil for void
	// interaction is set where another type stands before the result, which
	// fbthrift reads as an interaction's name.
	interaction *typeNode
	stream      *streamNode
	args        []*fieldDecl
	throws      []*fieldDecl
	throwsPos   pos
}

// streamNode is what stands after the first reply: stream<…>, sink<…> or both.
type streamNode struct {
	server, client, final                   *typeNode
	serverThrows, clientThrows, finalThrows []*fieldDecl
}

type typeNode struct {
	kw        keyword // kwList, kwSet, kwMap or kwNone
	name      ident   // if kwNone
	key, elem *typeNode
	annots    []*annotNode
	pos       pos
}

type intNode struct {
	value int64
	pos   pos
}

type valueForm uint8

const (
	intForm valueForm = iota
	floatForm
	boolForm
	stringForm
	nameForm
	listForm
	mapForm
	structForm // Name{field = value}
)

type valueNode struct {
	form   valueForm
	num    int64   // intForm, boolForm
	float  float64 // floatForm
	str    string  // stringForm
	name   ident   // nameForm, structForm
	list   []*valueNode
	pairs  []pairNode  // mapForm
	fields []fieldInit // structForm
	broken bool        // an entry without a key has been reported
	pos    pos
}

type pairNode struct{ key, value *valueNode }

type fieldInit struct {
	name  ident
	value *valueNode
}

type annotNode struct {
	name     ident
	value    string
	hasValue bool
	literal  *valueNode // of @Name{…} and @Name, else nil
	pos      pos
}
