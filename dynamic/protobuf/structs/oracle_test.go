package structs_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/runtime/protoimpl"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/dynamic/protobuf/structs"
)

// This file compares with Google's library, which reads the same tags.

func google(m protoiface.MessageV1) proto.Message { return protoimpl.X.ProtoMessageV2Of(m) }

func random(r *rand.Rand) *Every {
	v := &Every{}
	fill(r, reflect.ValueOf(v).Elem(), 4)
	return v
}

func TestMessagesAreThoseOfGooglesLibrary(t *testing.T) {
	m := mapper[Every](t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := random(r)
		ours, err := m.Value(v)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := proto.Marshal(google(v))
		if err != nil {
			t.Fatal(err)
		}
		if len(ours.Raw()) != len(theirs) {
			t.Fatalf("%d bytes, Google's library writes %d:\n%x\n%x", len(ours.Raw()), len(theirs), ours.Raw(), theirs)
		}
		back := &Every{}
		if err := proto.Unmarshal(ours.Raw(), google(back)); err != nil || !proto.Equal(google(back), google(v)) {
			t.Fatalf("Google's library reads %x otherwise: %v", ours.Raw(), err)
		}
		read := &Every{}
		if err := m.Read(protobuf.NewMessage(theirs), read); err != nil || !proto.Equal(google(read), google(v)) {
			t.Fatalf("%x is read otherwise: %v", theirs, err)
		}
	}
}

// sameAsGoogle reads b on both sides. What Google's library takes, text that is no UTF-8
// apart, is taken and means the same.
func sameAsGoogle(t *testing.T, m *structs.Mapper[Every], b []byte) {
	t.Helper()
	want := &Every{}
	// Of types that are known by their tags, it misses not all required fields.
	theirs := proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(b, google(want))
	got := &Every{}
	ours := m.Read(protobuf.NewMessage(b), got)
	changed := !reflect.DeepEqual(got, &Every{})
	withoutQuirks(reflect.ValueOf(want).Elem())
	withoutQuirks(reflect.ValueOf(got).Elem())
	if theirs == nil && diag.CodeOf(ours) != diag.MissingRequired && (ours != nil || !proto.Equal(google(got), google(want))) {
		t.Fatalf("%x is\n%v\nhere (%v), Google's library reads\n%v", b, prototext.Format(google(got)), ours, prototext.Format(google(want)))
	}
	if ours != nil && changed {
		t.Fatalf("%x: the struct changed before %v", b, ours)
	}
}

// withoutQuirks takes from v, and from all below it, what Google's library makes otherwise of types
// that are known by their tags: it writes the tags of unknown fields anew, and it sets a message
// or group, to an empty one, for a field with that number and another wire type. So no pointer to
// an empty struct stays.
func withoutQuirks(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct && !v.IsNil() {
			withoutQuirks(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			withoutQuirks(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			withoutQuirks(v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			withoutQuirks(field)
			empty := field.Kind() == reflect.Pointer && field.Type().Elem().Kind() == reflect.Struct && !field.IsNil() && field.Elem().IsZero()
			if empty || v.Type().Field(i).Name == "XXX_unrecognized" {
				field.SetZero()
			}
		}
	}
}

func TestMessagesInAnyOrderAndPiecesMeanTheSame(t *testing.T) {
	m := mapper[Every](t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		var b []byte
		for range 1 + r.IntN(3) {
			v, err := m.Value(random(r))
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, v.Raw()...)
		}
		sameAsGoogle(t, m, b)
		for range r.IntN(4) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		sameAsGoogle(t, m, b)
		sameAsGoogle(t, m, b[:r.IntN(len(b)+1)])
	}
}

func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	m := mapper[Every](f)
	for range 20 {
		v, err := m.Value(random(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v.Raw())
	}
	f.Fuzz(func(t *testing.T, b []byte) { sameAsGoogle(t, m, b) })
}
