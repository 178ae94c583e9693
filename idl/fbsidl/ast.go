package fbsidl

import "github.com/thrum-rpc/thrum/diag"

// The syntax tree of one file. Every node has its place; nothing is resolved.

type fileNode struct {
	src      *diag.Source
	includes []*includeNode
	natives  []*stringNode // of native_include
	decls    []declNode    // in the order of the text, for which the rules ask
}

func (f *fileNode) span(p pos) diag.Span {
	return p.In(f.src)
}

// ident is a name, perhaps with dots.
type ident struct {
	name string
	pos  pos
}

type includeNode struct {
	path string
	pos  pos // of the path
}

// stringNode is a string or a name in its place.
type stringNode struct {
	text string
	pos  pos
}

// declNode is a statement other than an include.
type declNode interface{ place() pos }

func (n ident) place() pos      { return n.pos }
func (n stringNode) place() pos { return n.pos }
func (n declBase) place() pos   { return n.name.pos }

type (
	namespaceNode  struct{ ident } // the name is empty for the global namespace
	attributeNode  struct{ stringNode }
	rootNode       struct{ ident }
	identifierNode struct{ stringNode }
	extensionNode  struct{ stringNode }
)

type declBase struct {
	name ident
	doc  string
	meta []*attribute
}

type structNode struct {
	declBase
	fixed  bool
	fields []*fieldNode
}

type fieldNode struct {
	declBase
	typ   *typeNode
	value *valueNode // nil if none was given
}

type enumNode struct {
	declBase
	union bool
	base  *typeNode // nil if none was given
	vals  []*enumValNode
}

// enumValNode is a name of an enum or a member of a union, whose name may have
// dots.
type enumValNode struct {
	declBase
	typ   *typeNode  // of a member, after its alias
	value *valueNode // nil if none was given
}

type serviceNode struct {
	declBase
	methods []*methodNode
}

type methodNode struct {
	declBase
	request, response ident
}

// typeNode is a name, or a vector or an array of one.
type typeNode struct {
	name   ident
	series bool       // in brackets
	length *valueNode // of an array
	pos    pos
}

type attribute struct {
	name  ident
	value *valueNode // nil if none was given
	pos   pos
}

type valueForm uint8

const (
	identForm valueForm = iota
	stringForm
	intForm
	floatForm
	emptyForm // []
	callForm  // name(value)
)

type valueNode struct {
	form  valueForm
	text  string // with the sign of a name, without the quotes of a string
	plain bool   // of a string: ASCII without escapes
	arg   *valueNode
	bad   bool // a number that is none, which has been reported
	pos   pos
}
