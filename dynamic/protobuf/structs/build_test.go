package structs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/protobuf/structs"
)

// This file holds message types as protoc-gen-go of old wrote them, which Google's
// library reads by their tags too, and random values of them.

type Color int32

// Every has fields of proto2: pointers where they are singular.
type Every struct {
	B     *bool    `protobuf:"varint,1,opt,name=b"`
	I32   *int32   `protobuf:"varint,2,opt,name=i32"`
	I64   *int64   `protobuf:"varint,3,opt,name=i64"`
	U32   *uint32  `protobuf:"varint,4,opt,name=u32"`
	U64   *uint64  `protobuf:"varint,5,opt,name=u64"`
	S32   *int32   `protobuf:"zigzag32,6,opt,name=s32"`
	S64   *int64   `protobuf:"zigzag64,7,opt,name=s64"`
	F32   *uint32  `protobuf:"fixed32,8,opt,name=f32"`
	F64   *uint64  `protobuf:"fixed64,9,opt,name=f64"`
	SF32  *int32   `protobuf:"fixed32,10,opt,name=sf32"`
	SF64  *int64   `protobuf:"fixed64,11,opt,name=sf64"`
	F     *float32 `protobuf:"fixed32,12,opt,name=f"`
	D     *float64 `protobuf:"fixed64,13,opt,name=d,def=1,5"`
	S     *string  `protobuf:"bytes,14,opt,name=s"`
	Bytes []byte   `protobuf:"bytes,15,opt,name=bytes"`
	E     *Color   `protobuf:"varint,16,opt,name=e,enum=test.Color"`
	M     *Implied `protobuf:"bytes,17,opt,name=m"`
	G     *Group   `protobuf:"group,18,opt,name=G"`
	Self  *Every   `protobuf:"bytes,19,opt,name=self"`

	Bs    []bool     `protobuf:"varint,21,rep,packed,name=bs"`
	I32s  []int32    `protobuf:"varint,22,rep,name=i32s"`
	S64s  []int64    `protobuf:"zigzag64,23,rep,packed,name=s64s"`
	F32s  []uint32   `protobuf:"fixed32,24,rep,packed,name=f32s"`
	Ds    []float64  `protobuf:"fixed64,25,rep,name=ds"`
	Ss    []string   `protobuf:"bytes,26,rep,name=ss"`
	Bytss [][]byte   `protobuf:"bytes,27,rep,name=bytss"`
	Es    []Color    `protobuf:"varint,28,rep,name=es,enum=test.Color"`
	Ms    []*Implied `protobuf:"bytes,29,rep,name=ms"`
	Gs    []*Group   `protobuf:"group,30,rep,name=Gs"`

	ByText  map[string]*Implied `protobuf:"bytes,31,rep,name=byText" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	ByInt   map[int32]int64     `protobuf:"bytes,32,rep,name=byInt" protobuf_key:"zigzag32,1,opt,name=key" protobuf_val:"fixed64,2,opt,name=value"`
	ByBool  map[bool][]byte     `protobuf:"bytes,33,rep,name=byBool" protobuf_key:"varint,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	ByFixed map[uint64]Color    `protobuf:"bytes,34,rep,name=byFixed" protobuf_key:"fixed64,1,opt,name=key" protobuf_val:"varint,2,opt,name=value,enum=test.Color"`

	Choice isEvery_Choice `protobuf_oneof:"choice"`

	Ignored          int
	XXX_unrecognized []byte
}

type isEvery_Choice interface{ isEvery_Choice() }

type Every_Number struct {
	Number int64 `protobuf:"varint,41,opt,name=number,oneof"`
}

type Every_Text struct {
	Text string `protobuf:"bytes,42,opt,name=text,oneof"`
}

type Every_Message struct {
	Message *Implied `protobuf:"bytes,536870911,opt,name=message,oneof"`
}

func (*Every_Number) isEvery_Choice()  {}
func (*Every_Text) isEvery_Choice()    {}
func (*Every_Message) isEvery_Choice() {}

func (*Every) XXX_OneofWrappers() []any {
	return []any{(*Every_Number)(nil), (*Every_Text)(nil), (*Every_Message)(nil)}
}

// Implied has fields of proto3: without presence.
type Implied struct {
	B     bool     `protobuf:"varint,1,opt,name=b,proto3"`
	I32   int32    `protobuf:"varint,2,opt,name=i32,proto3"`
	S     string   `protobuf:"bytes,3,opt,name=s,proto3"`
	Bytes []byte   `protobuf:"bytes,4,opt,name=bytes,proto3"`
	D     float64  `protobuf:"fixed64,5,opt,name=d,proto3"`
	E     Color    `protobuf:"varint,6,opt,name=e,proto3,enum=test.Color"`
	Is    []int64  `protobuf:"varint,7,rep,packed,name=is,proto3"`
	Next  *Implied `protobuf:"bytes,10,opt,name=next,proto3"`
}

type Group struct {
	Required *int32 `protobuf:"varint,1,req,name=required"`
	Inner    *Group `protobuf:"group,2,opt,name=Inner"`
}

func (*Every) Reset()           {}
func (*Every) ProtoMessage()    {}
func (*Every) String() string   { return "" }
func (*Implied) Reset()         {}
func (*Implied) ProtoMessage()  {}
func (*Implied) String() string { return "" }
func (*Group) Reset()           {}
func (*Group) ProtoMessage()    {}
func (*Group) String() string   { return "" }

func mapper[T any](t testing.TB, opts ...structs.Option) *structs.Mapper[T] {
	t.Helper()
	m, err := structs.For[T](opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fill gives the exported fields of a struct random values.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), float64(float32(r.Float64()))}[r.IntN(5)])
	case reflect.String:
		v.SetString([]string{"", "a", "é", fmt.Sprint(r.Uint64()), string(make([]byte, r.IntN(300)))}[r.IntN(5)])
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				v.Index(i).SetUint(uint64(r.IntN(256)))
			} else {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, 0)
			fill(r, val, depth-1)
			v.SetMapIndex(key, val)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth-1)
	case reflect.Interface:
		w := []any{&Every_Number{}, &Every_Text{}, &Every_Message{}}[r.IntN(3)]
		fill(r, reflect.ValueOf(w).Elem(), depth)
		v.Set(reflect.ValueOf(w))
	case reflect.Struct:
		fillStruct(r, v, depth)
	}
}

func fillStruct(r *rand.Rand, v reflect.Value, depth int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Name == "XXX_unrecognized" || f.Name == "Ignored":
		case f.Name == "Required", v.NumField() == 1:
			fill(r, v.Field(i), depth)
		case depth > 0 && r.IntN(3) > 0:
			fill(r, v.Field(i), depth)
		}
	}
}
