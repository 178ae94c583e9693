package dynamicsuite

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

const (
	each   = 16 // elements per container of a Nesting
	rows   = 80 // in both containers of a Batch
	levels = 32 // of a Deep
)

var text = strings.Repeat("word ", 7)[:34]

// simple is the value of a Simple, 114 bytes on the wire; i tells those of one
// container apart.
func simple(i int) map[string]any {
	return map[string]any{
		"byteField": int8(127), "i64Field": int64(1) << 62, "doubleField": 1e300, "i32Field": int32(1)<<30 + int32(i),
		"stringField": text, "binaryField": []byte(text[:32]),
	}
}

// nesting is the value of a Nesting, 6455 bytes on the wire.
func nesting(n int) map[string]any {
	v := map[string]any{"string": text, "double": 1e300, "i32": int32(1)<<30 + int32(n), "i64": int64(1) << 62,
		"simple": simple(n), "binary": []byte(text[:32]), "byte": int8(127)}
	var listSimple, listI32, listI64, listString []any
	var strings, ints, texts, simples []dynamic.Entry
	for i := range each {
		listSimple = append(listSimple, simple(i))
		listI32, listI64, listString = append(listI32, i), append(listI64, i), append(listString, text)
		key := strconv.Itoa(i)
		strings = append(strings, dynamic.Entry{Key: key, Value: text})
		ints = append(ints, dynamic.Entry{Key: i, Value: i})
		texts = append(texts, dynamic.Entry{Key: i, Value: text})
		simples = append(simples, dynamic.Entry{Key: key, Value: simple(i)})
	}
	v["listSimple"], v["listI32"], v["listI64"], v["listString"] = listSimple, listI32, listI64, listString
	v["mapStringString"], v["mapI32I64"], v["mapI64String"], v["mapStringSimple"] = strings, ints, texts, simples
	return v
}

// batch is the value of a Batch, 1 MB on the wire.
func batch() map[string]any {
	var list []any
	var byName []dynamic.Entry
	for i := range rows {
		list = append(list, nesting(i))
		byName = append(byName, dynamic.Entry{Key: strconv.Itoa(i), Value: nesting(i)})
	}
	return map[string]any{"name": text, "rows": list, "weight": 1e300, "rowsByName": byName, "simple": simple(0)}
}

// deep is the value of a Deep.
func deep(left int) map[string]any {
	v := map[string]any{"level": left, "name": text, "ids": []any{1, 2, 3, 4}, "weight": 1e300, "payload": []byte(text[:32])}
	if left > 1 {
		v["inner"] = deep(left - 1)
	}
	return v
}

// step is a step of a path that all sides can take: a field, or the entry of
// a map with that key if there is one.
type step struct {
	field int16
	key   string
}

// shape is a message and what is done to it.
type shape struct {
	name        string
	size        int // bytes of the message
	whole, part *schema.Type
	message     []byte
	one         []step  // the path of get-one and set-one
	many        []int16 // the fields of get-many, set-many and marshal-many
	value       []byte  // what set-one sets, a binary
	edit        int16   // the field of type double that dom-marshal finds set
	list        int16   // the field with a list of structs that filter-list looks through, or 0
	generated   func(*shape) (contender, error)
	limit       func(*shape) contender
}

// rule says whether a row of a list may stay, by its field 4.
func rule(i32 int64) bool { return i32&3 != 3 }

const ruled = 4

func shapes() ([]*shape, error) {
	file, list := thriftidl.Load("dynamic.thrift", thriftidl.Sources(map[string][]byte{"dynamic.thrift": idl.Dynamic}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		return nil, err
	}
	down := make([]step, levels)
	for i := range down {
		down[i].field = 4
	}
	down[levels-1].field = 6
	all := []*shape{
		{name: "small", size: 114, one: []step{{field: 6}}, many: []int16{1, 3, 6}, edit: 3, generated: generatedSmall, limit: limitSmall},
		{name: "medium", size: 6455, one: []step{{field: 15}, {key: "15"}, {field: 6}}, many: []int16{2, 8, 15}, edit: 3, list: 2, generated: generatedMedium, limit: limitMedium},
		{name: "large", size: 1033457, one: []step{{field: 4}, {key: "79"}, {field: 8}, {field: 6}}, many: []int16{1, 2, 5}, edit: 3, list: 2, generated: generatedLarge, limit: limitLarge},
		{name: "deep", size: 4541, one: down, many: []int16{1, 4, 6}, edit: 5, generated: generatedDeep, limit: limitDeep},
	}
	for i, of := range []struct {
		whole string
		value any
	}{{"Simple", simple(0)}, {"Nesting", nesting(0)}, {"Batch", batch()}, {"Deep", deep(levels)}} {
		s := all[i]
		s.whole, s.part = file.Struct(of.whole).Type(), file.Struct("Partial"+of.whole).Type()
		var err error
		if s.message, err = dynamic.AppendAny(nil, s.whole, of.value); err != nil {
			return nil, err
		}
		if len(s.message) != s.size {
			return nil, fmt.Errorf("%s has %d bytes instead of %d", s.name, len(s.message), s.size)
		}
		s.value = dynamic.NewString(strings.ToUpper(text[:32])).Raw()
	}
	return all, nil
}
