package flatsuite

import (
	"fmt"
	"reflect"
	"strings"

	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/bench/internal/gen/flat"
	"github.com/thrum-rpc/thrum/flatbuf"
)

// message is a shape with its value.
type message interface {
	Maps() []bool
	BuildGoogle(*google.Builder) google.UOffsetT
	PackGoogle(*google.Builder) google.UOffsetT
	UnpackGoogle(*google.Table)
	ReadGoogle(*google.Table) uint64
	ReadSomeGoogle(*google.Table) uint64
	BuildOurs(*flatbuf.Builder) flatbuf.UOffsetT
	ReadOurs(*flatbuf.Table) uint64
	ReadSomeOurs(*flatbuf.Table) uint64
	NewProto() flat.ProtoMessage
}

// shape is a message by its name in the suite. bytes is the size that trpc
// published for a message of that many fields.
type shape struct {
	name  string
	bytes int
	value message
	fresh func() message // an empty one
	// The codec of structs: marshal makes value a message, unmarshal fills a fresh
	// one, after verification.
	marshal   func(*flatbuf.Builder) ([]byte, error)
	unmarshal func([]byte) (message, error)
}

// shapes returns all shapes, filled.
func shapes() []shape {
	return []shape{
		newShape[flat.F6]("f6", 284), newShape[flat.F76]("f76", 708), newShape[flat.F146]("f146", 1124),
		newShape[flat.F286]("f286", 1964), newShape[flat.F566]("f566", 3644), newShape[flat.F1126]("f1126", 7243),
		newShape[flat.M6]("m6", 292), newShape[flat.M86]("m86", 1084), newShape[flat.M166]("m166", 1900),
		newShape[flat.M326]("m326", 3540), newShape[flat.M646]("m646", 6819), newShape[flat.M1286]("m1286", 13619),
	}
}

// newShape makes a value of T whose message has the published size but for some
// bytes: a text takes what is missing.
func newShape[T any, P interface {
	*T
	message
}](name string, bytes int) shape {
	s := shape{name: name, bytes: bytes, value: P(new(T)), fresh: func() message { return P(new(T)) }}
	codec, err := flatbuf.For[T]()
	if err != nil {
		panic(err) // of the tags that the generator wrote
	}
	value := (*T)(s.value.(P))
	s.marshal = func(b *flatbuf.Builder) ([]byte, error) {
		if err := codec.MarshalTo(b, value); err != nil {
			return nil, err
		}
		return b.FinishedBytes(), nil
	}
	s.unmarshal = func(msg []byte) (message, error) {
		v := new(T)
		return P(v), codec.Unmarshal(msg, v)
	}
	v := reflect.ValueOf(s.value).Elem()
	base := v.FieldByName("Base").Addr().Interface().(*flat.Base)
	*base = flat.Base{
		ID: 1<<40 + 12345, Created: 1_700_000_000_000, Name: "a name of some length", Active: true,
		Tags: []string{"first", "second", "third", "the fourth"},
	}
	for i, isMap := range s.value.Maps() {
		f := v.FieldByName(fmt.Sprintf("F%d", i))
		if isMap {
			f.Set(reflect.ValueOf([]*flat.Entry{{Key: fmt.Sprintf("key%d", i), Value: int32(30_000 + i)}}))
		} else {
			f.SetInt(int64(20_000 + i))
		}
	}
	if missing := bytes - len(s.message()); missing > 0 {
		base.Text = strings.Repeat("text ", missing/5+1)[:missing]
	}
	return s
}

// message returns the message as ours builds it.
func (s *shape) message() []byte {
	var b flatbuf.Builder
	b.Finish(s.value.BuildOurs(&b))
	return b.FinishedBytes()
}

// layout is what a verifier knows of the shape.
func (s *shape) layout() *flatbuf.Layout {
	fields := []flatbuf.FieldLayout{
		{Name: "ID", Slot: 0, Kind: flatbuf.ScalarField, Size: 8, Align: 8},
		{Name: "Created", Slot: 1, Kind: flatbuf.ScalarField, Size: 8, Align: 8},
		{Name: "Name", Slot: 2, Kind: flatbuf.StringField},
		{Name: "Text", Slot: 3, Kind: flatbuf.StringField},
		{Name: "Tags", Slot: 4, Kind: flatbuf.StringVector},
		{Name: "Active", Slot: 5, Kind: flatbuf.ScalarField, Size: 1, Align: 1},
	}
	for i, isMap := range s.value.Maps() {
		f := flatbuf.FieldLayout{Name: fmt.Sprintf("F%d", i), Slot: uint16(6 + i), Kind: flatbuf.ScalarField, Size: 4, Align: 4}
		if isMap {
			f = flatbuf.FieldLayout{Name: f.Name, Slot: f.Slot, Kind: flatbuf.TableVector, Ref: 1}
		}
		fields = append(fields, f)
	}
	return &flatbuf.Layout{Tables: []flatbuf.TableLayout{
		{Name: s.name, Fields: fields},
		{Name: "Entry", Fields: []flatbuf.FieldLayout{
			{Name: "Key", Slot: 0, Kind: flatbuf.StringField, Required: true},
			{Name: "Value", Slot: 1, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
		}},
	}}
}
