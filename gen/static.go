package gen

// Methods of the option Static: specialised Go that reads and writes the binary
// protocol as package codec's interpreter does. A method is a run of statements,
// one group per field, so it is printed here and not by a template.

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// staticCode prints the statements of one method.
type staticCode struct {
	*goFile
	b    strings.Builder
	vars int // numbers the local variables
}

func (w *staticCode) printf(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// fresh returns the number of the next group of local variables.
func (w *staticCode) fresh() int { w.vars++; return w.vars }

// Static reports whether the methods are asked for.
func (f *goFile) Static() bool { return f.opts.static }

// StaticRT and Diag import what the methods call.
func (f *goFile) StaticRT() string {
	f.imports["github.com/thrum-rpc/thrum/gen/static"] = "static"
	return "static"
}

func (f *goFile) Diag() string {
	f.imports["github.com/thrum-rpc/thrum/diag"] = "diag"
	return "diag"
}

// UsesFault reports whether the statements need the variable f, as "; f != nil" tells: before a field's
// name, which may end with f, there is no semicolon.
func (f *goFile) UsesFault(statements string) bool { return strings.Contains(statements, "; f != nil") }

// wireName returns the wire type of t as an expression.
func (f *goFile) wireName(t *schema.Type) string {
	f.imports["github.com/thrum-rpc/thrum/wire/thriftwire"] = "thriftwire"
	return "thriftwire." + wireNames[t.Kind()]
}

var wireNames = map[schema.Kind]string{
	schema.Bool: "Bool", schema.I8: "I8", schema.I16: "I16", schema.I32: "I32", schema.I64: "I64",
	schema.Float: "Float", schema.Double: "Double", schema.String: "String", schema.Binary: "String",
	schema.UUID: "UUID", schema.Enum: "I32", schema.List: "List", schema.Set: "Set", schema.Map: "Map",
	schema.Struct: "Struct",
}

// wireTypes are the numbers behind wireNames, from the Thrift specification.
var wireTypes = map[schema.Kind]int{
	schema.Bool: 2, schema.I8: 3, schema.I16: 6, schema.I32: 8, schema.I64: 10, schema.Float: 19, schema.Double: 4,
	schema.String: 11, schema.Binary: 11, schema.UUID: 16, schema.Enum: 8, schema.List: 15, schema.Set: 14,
	schema.Map: 13, schema.Struct: 12,
}

// fixedSize returns the bytes that every value of t takes on the wire, or 0.
func fixedSize(t *schema.Type) int {
	switch t.Kind() {
	case schema.Bool, schema.I8:
		return 1
	case schema.I16:
		return 2
	case schema.I32, schema.Float, schema.Enum:
		return 4
	case schema.I64, schema.Double:
		return 8
	case schema.UUID:
		return 16
	}
	return 0
}

// memory returns about how many bytes a value of t takes in memory.
func (f *goFile) memory(t *schema.Type, inline bool) int {
	switch k := t.Kind(); {
	case k == schema.Struct && inline:
		return f.structMemory(t)
	case k == schema.String:
		return 16
	case k == schema.Binary || k == schema.List || k == schema.Set:
		return 24
	case k == schema.UUID:
		return 16
	}
	return 8
}

func (f *goFile) structMemory(t *schema.Type) int {
	n := 8
	for _, field := range f.generator.structs[t.Struct()].Fields {
		n += f.memory(field.Field.Type(), false)
	}
	return n
}

// basic converts x, of t's Go type, to the basic type that t stands for.
func (f *goFile) basic(x string, t *schema.Type) string {
	if kind := goKinds[t.Kind()]; f.goType(t) != kind {
		return kind + "(" + x + ")"
	}
	return x
}

// keyText returns the expression that renders a map key in a path.
func (f *goFile) keyText(x string, t *schema.Type) string {
	switch t.Kind() {
	case schema.String, schema.Binary:
		return f.StaticRT() + ".KeyString(string(" + x + "))"
	case schema.Bool:
		return f.StaticRT() + ".KeyBool(bool(" + x + "))"
	case schema.Double:
		return f.StaticRT() + ".KeyDouble(float64(" + x + "))"
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Enum:
		return f.StaticRT() + ".KeyInt(int64(" + x + "))"
	}
	return `"entry"`
}

// inline reports whether the elements of container t are structs by value.
func (f *goFile) inline(t *schema.Type) bool {
	return f.opts.structValues && t.Elem().Kind() == schema.Struct
}

// StaticIf returns the condition under which the field is written, or "".
func (f *goField) StaticIf() string {
	if !f.optional() {
		return ""
	}
	return f.IsSetExpr()
}

// HeadBytes returns the field's header as the arguments of append.
func (f *goField) HeadBytes() string {
	id := uint16(f.ID())
	return fmt.Sprintf("%d, %d, %d", wireTypes[f.Field.Type().Kind()], id>>8, id&0xff)
}

// head returns the field's header as a number.
func (f *goField) head() uint32 {
	return uint32(wireTypes[f.Field.Type().Kind()])<<16 | uint32(uint16(f.ID()))
}

// target returns the expression of the field's value.
func (f *goField) target() string {
	if f.pointer() {
		return "*p." + f.Name
	}
	return "p." + f.Name
}
