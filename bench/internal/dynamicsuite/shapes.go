package dynamicsuite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// idl describes the shapes for both sides; the service is there because
// dynamicgo reaches types through the one argument of a method.
const idl = `
struct Simple {
	1: byte byteField
	2: i64 i64Field
	3: double doubleField
	4: i32 i32Field
	5: string stringField
	6: binary binaryField
}
struct PartialSimple {
	1: byte byteField
	3: double doubleField
	6: binary binaryField
}
struct Nesting {
	1: string string
	2: list<Simple> listSimple
	3: double double
	4: i32 i32
	5: list<i32> listI32
	6: i64 i64
	7: map<string, string> mapStringString
	8: Simple simple
	9: map<i32, i64> mapI32I64
	10: list<string> listString
	11: binary binary
	12: map<i64, string> mapI64String
	13: list<i64> listI64
	14: byte byte
	15: map<string, Simple> mapStringSimple
}
struct PartialNesting {
	2: list<PartialSimple> listSimple
	8: PartialSimple simple
	15: map<string, PartialSimple> mapStringSimple
}
service Shapes {
	void small(1: Simple whole)
	void smallPart(1: PartialSimple part)
	void medium(1: Nesting whole)
	void mediumPart(1: PartialNesting part)
}
`

const each = 16 // elements per container

var text = strings.Repeat("word ", 7)[:34]

// simple is the value of a Simple, 114 bytes on the wire.
func simple() map[string]any {
	return map[string]any{
		"byteField": int8(127), "i64Field": int64(1) << 62, "doubleField": 1e300, "i32Field": int32(1) << 30,
		"stringField": text, "binaryField": []byte(text[:32]),
	}
}

// nesting is the value of a Nesting, 6455 bytes on the wire.
func nesting() map[string]any {
	v := map[string]any{"string": text, "double": 1e300, "i32": int32(1) << 30, "i64": int64(1) << 62, "simple": simple(), "binary": []byte(text[:32]), "byte": int8(127)}
	var listSimple, listI32, listI64, listString []any
	var strings, ints, texts, simples []dynamic.Entry
	for i := range each {
		listSimple = append(listSimple, simple())
		listI32, listI64, listString = append(listI32, i), append(listI64, i), append(listString, text)
		key := strconv.Itoa(i)
		strings = append(strings, dynamic.Entry{Key: key, Value: text})
		ints = append(ints, dynamic.Entry{Key: i, Value: i})
		texts = append(texts, dynamic.Entry{Key: i, Value: text})
		simples = append(simples, dynamic.Entry{Key: key, Value: simple()})
	}
	v["listSimple"], v["listI32"], v["listI64"], v["listString"] = listSimple, listI32, listI64, listString
	v["mapStringString"], v["mapI32I64"], v["mapI64String"], v["mapStringSimple"] = strings, ints, texts, simples
	return v
}

// step is a step of a path that both sides can take: a field, or the entry of
// a map with that key if there is one.
type step struct {
	field int16
	key   string
}

// shape is a message and what is done to it.
type shape struct {
	name        string
	size        int // bytes of the message, as published for it
	whole, part *schema.Type
	message     []byte
	one         []step  // the path of get-one and set-one
	many        []int16 // the fields of get-many, set-many and marshal-many
	value       []byte  // what set-one sets, a binary
	edit        int16   // the field of type double that dom-marshal finds set
}

func shapes() ([]*shape, error) {
	file, list := thriftidl.Load("shapes.thrift", thriftidl.Sources(map[string][]byte{"shapes.thrift": []byte(idl)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		return nil, err
	}
	small := &shape{name: "small", size: 114, one: []step{{field: 6}}, many: []int16{1, 3, 6}, edit: 3}
	medium := &shape{name: "medium", size: 6455, one: []step{{field: 15}, {key: "15"}, {field: 6}}, many: []int16{2, 8, 15}, edit: 3}
	for s, of := range map[*shape]struct {
		whole, part string
		value       any
	}{small: {"Simple", "PartialSimple", simple()}, medium: {"Nesting", "PartialNesting", nesting()}} {
		s.whole, s.part = file.Struct(of.whole).Type(), file.Struct(of.part).Type()
		var err error
		if s.message, err = dynamic.AppendAny(nil, s.whole, of.value); err != nil {
			return nil, err
		}
		if len(s.message) != s.size {
			return nil, fmt.Errorf("%s has %d bytes instead of %d", s.name, len(s.message), s.size)
		}
		s.value = dynamic.NewString(strings.ToUpper(text[:32])).Raw()
	}
	return []*shape{small, medium}, nil
}
