package transcode_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

// This file writes messages as no encoder does and every reader must expect.

// scramble returns a message whose fields stand in any order, again and in
// pieces, with the types of md. It may mean something else than b.
func scramble(r *rand.Rand, md protoreflect.MessageDescriptor, b []byte) []byte {
	var parts [][]byte
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		size := n + protowire.Skip(b[n:], number, wire, 100)
		part := b[:size]
		f := md.Fields().ByNumber(protoreflect.FieldNumber(number))
		b = b[size:]
		switch body, _ := protowire.ConsumeBytes(part[n:]); {
		case f != nil && f.Kind() == protoreflect.MessageKind && wire == protowire.Bytes:
			parts = append(parts, pieces(r, f.Message(), number, scramble(r, f.Message(), body), !f.IsList() && !f.IsMap())...)
		case f != nil && f.IsPacked() && wire == protowire.Bytes && r.IntN(2) == 0:
			parts = append(parts, unpacked(number, f.Kind(), body)...)
		default:
			parts = append(parts, part)
		}
		if r.IntN(8) == 0 {
			parts = append(parts, parts[r.IntN(len(parts))]) // again
		}
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	if r.IntN(4) == 0 {
		parts = append(parts, protowire.AppendVarint(protowire.AppendTag(nil, 100000, protowire.Varint), 5)) // unknown
	}
	return slices.Concat(parts...)
}

// pieces returns the field whose body is a message, in two pieces if split says so.
func pieces(r *rand.Rand, md protoreflect.MessageDescriptor, number int32, body []byte, split bool) [][]byte {
	field := func(body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.Bytes), body)
	}
	if !split || len(body) == 0 || r.IntN(2) == 0 {
		return [][]byte{field(body)}
	}
	first, wire, n := protowire.ConsumeTag(body)
	n += protowire.Skip(body[n:], first, wire, 100)
	return [][]byte{field(body[:n]), field(body[n:])}
}

// unpacked returns the elements of a packed list as fields of their own.
func unpacked(number int32, kind protoreflect.Kind, body []byte) (parts [][]byte) {
	wire := protowire.Varint
	switch kind {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		wire = protowire.Fixed32
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		wire = protowire.Fixed64
	}
	for len(body) > 0 {
		n := protowire.Skip(body, number, wire, 0)
		parts = append(parts, append(protowire.AppendTag(nil, number, wire), body[:n]...))
		body = body[n:]
	}
	return parts
}

func TestMessagesInPiecesMeanWhatTheyMeanToGoogle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md, m := randomProtobuf(t)
		other := dynamicpb.NewMessage(md)
		randomValue(t, other, 3)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var wire []byte
		for _, x := range []*dynamicpb.Message{m, other} {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			wire = append(wire, b...)
		}
		wire = scramble(r, md, wire)
		c, err := transcode.NewProtobuf(describe(md))
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.AppendJSON(nil, wire)
		want := dynamicpb.NewMessage(md)
		if err2 := proto.Unmarshal(wire, want); err2 != nil {
			// A piece may lack a required field that the next one, which another
			// field of a oneof keeps away from it, holds.
			if err == nil {
				t.Fatalf("%x became %s, Google says %v", wire, text, err2)
			}
			return
		}
		if theirs, err2 := protojson.Marshal(want); err2 != nil {
			// Merging may make a time, duration or Value of none.
			if err == nil {
				t.Fatalf("%x became %s, Google says %v", wire, text, err2)
			}
			return
		} else if err != nil {
			t.Fatalf("%x, in Google's JSON %s: %v", wire, theirs, err)
		}
		got := readJSON(t, md, text)
		discardUnknown(want)
		sameMessage(t, string(text), got, want)
	})
}

// discardUnknown removes unknown fields from m and what is in it.
func discardUnknown(m protoreflect.ProtoMessage) {
	x := m.ProtoReflect()
	x.SetUnknown(nil)
	x.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				discardUnknown(v.Message().Interface())
				return true
			})
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				discardUnknown(v.List().Get(i).Message().Interface())
			}
		case f.Message() != nil && !f.IsMap():
			discardUnknown(v.Message().Interface())
		}
		return true
	})
}
