package codec

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strconv"
	"strings"
)

// This file makes random Go types with tags, and random values of them.

type enumeration int64
type narrowEnumeration int32

// node is recursive, has every kind of reference to a struct, and keeps unknown fields.
type node struct {
	Name           string           `thrift:"name,1,required"`
	Left           *node            `thrift:"left,2,optional"`
	Kids           []*node          `frugal:"3,default,list<node>"`
	Plain          []leaf           `frugal:"4,optional,list<leaf>"`
	ByName         map[string]*node `frugal:"5,default,map<string:node>"`
	Leaf           leaf             `frugal:"6,default,leaf"`
	_unknownFields []byte
}

type leaf struct {
	N *int32 `frugal:"1,optional,i32"`
	M int16  `frugal:"32767,default,i16"`
}

type typeChoice struct {
	t    reflect.Type
	text string
}

// scalarChoices are the types without parts; the last one cannot be a map's key.
var scalarChoices = []typeChoice{
	{reflect.TypeFor[bool](), "bool"}, {reflect.TypeFor[int8](), "i8"}, {reflect.TypeFor[int16](), "i16"},
	{reflect.TypeFor[int32](), "i32"}, {reflect.TypeFor[int64](), "i64"}, {reflect.TypeFor[float64](), "double"},
	{reflect.TypeFor[string](), "string"}, {reflect.TypeFor[enumeration](), "enumeration"},
	{reflect.TypeFor[narrowEnumeration](), "narrowEnumeration"}, {reflect.TypeFor[[16]byte](), "uuid"},
	{reflect.TypeFor[[]byte](), "binary"},
}

func randomType(r *rand.Rand, depth int, key bool) typeChoice {
	if key {
		return scalarChoices[r.Intn(len(scalarChoices)-1)]
	}
	n := r.Intn(len(scalarChoices) + 5)
	if n < len(scalarChoices) || depth == 0 {
		return scalarChoices[n%len(scalarChoices)]
	}
	switch n - len(scalarChoices) {
	case 0:
		e := randomType(r, depth-1, false)
		return typeChoice{reflect.SliceOf(e.t), "list<" + e.text + ">"}
	case 1:
		e := randomType(r, depth-1, true)
		return typeChoice{reflect.SliceOf(e.t), "set<" + e.text + ">"}
	case 2, 3:
		k, v := randomType(r, depth-1, true), randomType(r, depth-1, false)
		return typeChoice{reflect.MapOf(k.t, v.t), "map<" + k.text + ":" + v.text + ">"}
	default:
		if r.Intn(2) == 0 {
			return typeChoice{reflect.TypeFor[*node](), "node"}
		}
		return typeChoice{reflect.TypeFor[leaf](), "leaf"}
	}
}

func nilable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

func randomStruct(r *rand.Rand) reflect.Type {
	var fields []reflect.StructField
	id := 0
	for i := range 1 + r.Intn(12) {
		id += 1 + r.Intn(3)*r.Intn(200)
		c := randomType(r, 3, false)
		req := []string{"default", "required", "optional"}[r.Intn(3)]
		if req == "optional" && r.Intn(2) == 0 && !nilable(c.t) && c.t.Kind() != reflect.Struct {
			c.t = reflect.PointerTo(c.t)
		}
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(i), Type: c.t,
			Tag: reflect.StructTag(fmt.Sprintf(`frugal:"%d,%s,%s"`, id, req, c.text)),
		})
	}
	return reflect.StructOf(fields)
}

// fill sets v to a random value. Only optional fields stay nil, so that a decoded value
// compares equal.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.Intn(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		bits := v.Type().Bits()
		if v.Type() == reflect.TypeFor[enumeration]() {
			bits = 32
		}
		n := int64(r.Uint64())
		if r.Intn(3) == 0 {
			n = []int64{0, -1, math.MinInt64, math.MaxInt64}[r.Intn(4)]
		}
		v.SetInt(n >> (64 - bits) >> r.Intn(bits)) // varints of each length
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.Uint8:
		v.SetUint(uint64(r.Intn(256)))
	case reflect.String:
		v.SetString(strings.Repeat("thrum ⌘", r.Intn(4)))
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth)
		}
	case reflect.Slice:
		n := r.Intn(5)
		if depth <= 0 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.Intn(12) * min(1, max(0, depth)) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, depth-1)
			fill(r, e, depth-1)
			v.SetMapIndex(k, e)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			optional := strings.Contains(string(f.Tag), "optional")
			if !f.IsExported() || optional && nilable(f.Type) && (depth <= 0 || r.Intn(2) == 0) {
				continue
			}
			fill(r, v.Field(i), depth-1)
		}
	}
}
