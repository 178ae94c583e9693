package transcode_test

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// This file draws Protobuf message types and messages.

// wellKnownNames are the messages that random fields may have as types.
var wellKnownNames = []string{
	"Timestamp", "Duration", "FieldMask", "Struct", "ListValue", "Value", "Empty",
	"BoolValue", "Int32Value", "UInt32Value", "Int64Value", "UInt64Value", "FloatValue", "DoubleValue", "StringValue", "BytesValue",
}

// randomFile draws a file with the messages M0 to M3, which hold each other.
func randomFile(t *rapid.T) protoreflect.FileDescriptor {
	syntax := rapid.SampledFrom([]string{"proto2", "proto3"}).Draw(t, "syntax")
	f := &descriptorpb.FileDescriptorProto{
		Name: proto.String("random.proto"), Package: proto.String("random"), Syntax: proto.String(syntax),
		Dependency: []string{
			"google/protobuf/timestamp.proto", "google/protobuf/duration.proto", "google/protobuf/field_mask.proto",
			"google/protobuf/struct.proto", "google/protobuf/empty.proto", "google/protobuf/wrappers.proto",
		},
		EnumType: []*descriptorpb.EnumDescriptorProto{{
			Name: proto.String("E"),
			Value: []*descriptorpb.EnumValueDescriptorProto{
				{Name: proto.String("ZERO"), Number: proto.Int32(0)}, {Name: proto.String("ONE"), Number: proto.Int32(1)},
				{Name: proto.String("LESS"), Number: proto.Int32(-7)}, {Name: proto.String("FAR"), Number: proto.Int32(1 << 20)},
			},
		}},
	}
	for i := range 4 {
		f.MessageType = append(f.MessageType, randomMessage(t, fmt.Sprintf("M%d", i), syntax))
	}
	fd, err := protodesc.NewFile(f, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func randomMessage(t *rapid.T, name, syntax string) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	count := rapid.IntRange(1, 12).Draw(t, "fields")
	number := int32(0)
	if rapid.IntRange(0, 9).Draw(t, "wide") == 0 {
		count += 70
	}
	for i := range count {
		number += int32(rapid.SampledFrom([]int{1, 1, 1, 1, 2, 9, 700}).Draw(t, "gap"))
		randomField(t, m, fmt.Sprintf("f_%d%s", i, []string{"", "_x", "_Y2"}[i%3]), number, syntax)
	}
	// The members of a oneof must stand together.
	slices.SortStableFunc(m.Field, func(a, b *descriptorpb.FieldDescriptorProto) int {
		return map[bool]int{true: 1}[a.OneofIndex != nil] - map[bool]int{true: 1}[b.OneofIndex != nil]
	})
	return m
}

// randomField adds a field to m.
func randomField(t *rapid.T, m *descriptorpb.DescriptorProto, name string, number int32, syntax string) {
	label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Label: &label}
	randomType(t, f, syntax)
	switch rapid.IntRange(0, 9).Draw(t, "shape") {
	case 0, 1:
		label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		if packable(f.GetType()) && rapid.Bool().Draw(t, "options") {
			f.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(rapid.Bool().Draw(t, "packed"))}
		}
	case 2, 3:
		if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP {
			break
		}
		randomMap(t, m, f)
		label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	case 4, 5:
		if len(m.OneofDecl) == 0 {
			m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
		}
		f.OneofIndex = proto.Int32(0)
	case 6:
		if syntax == "proto2" && f.GetTypeName() == "" && rapid.Bool().Draw(t, "required") {
			label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED
		}
	}
	m.Field = append(m.Field, f)
}

func packable(t descriptorpb.FieldDescriptorProto_Type) bool {
	switch t {
	case descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_BYTES,
		descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_TYPE_GROUP:
		return false
	}
	return true
}

func randomType(t *rapid.T, f *descriptorpb.FieldDescriptorProto, syntax string) {
	typ := descriptorpb.FieldDescriptorProto_Type(rapid.IntRange(1, 18).Draw(t, "type"))
	if typ == descriptorpb.FieldDescriptorProto_TYPE_GROUP {
		typ = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	f.Type = &typ
	switch typ {
	case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
		f.TypeName = proto.String(".random.E")
		if syntax == "proto3" && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			f.TypeName = proto.String(".google.protobuf.NullValue")
		}
	case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
		f.TypeName = proto.String(fmt.Sprintf(".random.M%d", rapid.IntRange(0, 3).Draw(t, "message")))
		if rapid.Bool().Draw(t, "known") {
			f.TypeName = proto.String(".google.protobuf." + rapid.SampledFrom(wellKnownNames).Draw(t, "name"))
		}
	}
}

// randomMap makes f, which has the type of its values, a map.
func randomMap(t *rapid.T, m *descriptorpb.DescriptorProto, f *descriptorpb.FieldDescriptorProto) {
	keys := []descriptorpb.FieldDescriptorProto_Type{3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 18}
	key := rapid.SampledFrom(keys).Draw(t, "key")
	name := ""
	for _, part := range strings.Split(f.GetName(), "_") {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	name += "Entry"
	optional := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
		Name: &name,
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("key"), Number: proto.Int32(1), Label: &optional, Type: &key},
			{Name: proto.String("value"), Number: proto.Int32(2), Label: &optional, Type: f.Type, TypeName: f.TypeName},
		},
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	})
	message := descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	f.Type, f.TypeName = &message, proto.String(".random."+m.GetName()+"."+name)
}

// randomValue fills m with fields; depth bounds how deep they nest.
func randomValue(t *rapid.T, m *dynamicpb.Message, depth int) {
	md := m.Descriptor()
	if wellKnownValue(t, m, depth) {
		return
	}
	for i := range md.Fields().Len() {
		f := md.Fields().Get(i)
		deep := f.Message() != nil && !f.IsMap() || f.IsMap() && f.MapValue().Message() != nil
		if f.Cardinality() != protoreflect.Required && (deep && depth == 0 || rapid.IntRange(0, 2).Draw(t, "set") == 0) {
			continue
		}
		switch {
		case f.IsList():
			l := m.Mutable(f).List()
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				l.Append(randomScalar(t, f, depth))
			}
		case f.IsMap():
			x := m.Mutable(f).Map()
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				x.Set(randomScalar(t, f.MapKey(), 0).MapKey(), randomScalar(t, f.MapValue(), depth))
			}
		default:
			m.Set(f, randomScalar(t, f, depth))
		}
	}
}

// wellKnownValue fills messages of which not every value has a JSON form.
func wellKnownValue(t *rapid.T, m *dynamicpb.Message, depth int) bool {
	fields := m.Descriptor().Fields()
	set := func(i int, v any) { m.Set(fields.Get(i), protoreflect.ValueOf(v)) }
	nanos := int32(rapid.SampledFrom([]int{0, 0, 1, 999999999, 5000, 120000000}).Draw(t, "nanos"))
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		set(0, rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"))
		set(1, nanos)
	case "google.protobuf.Duration":
		seconds := rapid.Int64Range(-315576000000, 315576000000).Draw(t, "seconds") >> rapid.IntRange(0, 39).Draw(t, "shift")
		if seconds < 0 {
			nanos = -nanos
		}
		set(0, seconds)
		set(1, nanos)
	case "google.protobuf.FieldMask":
		for range rapid.IntRange(0, 3).Draw(t, "paths") {
			path := rapid.StringMatching(`_?[a-z]([a-z0-9]|_[a-z]|\._?[a-z]){0,6}`).Draw(t, "path")
			m.Mutable(fields.Get(0)).List().Append(protoreflect.ValueOf(path))
		}
	case "google.protobuf.Value":
		i := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 {
			i %= 4
		}
		switch i {
		case 1:
			set(1, rapid.Float64Range(-1e300, 1e300).Draw(t, "number"))
		default:
			m.Set(fields.Get(i), randomScalar(t, fields.Get(i), depth))
		}
		if i == 0 {
			set(0, protoreflect.EnumNumber(0))
		}
	default:
		return false
	}
	return true
}

// randomScalar draws a value, element or key of f.
func randomScalar(t *rapid.T, f protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	small := rapid.IntRange(0, 63).Draw(t, "shift")
	bits := rapid.Uint64().Draw(t, "bits")
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOf(bits&1 == 0)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOf(int32(bits) >> (small / 2))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOf(uint32(bits) >> (small / 2))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOf(int64(bits) >> small)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOf(bits >> small)
	case protoreflect.FloatKind:
		return protoreflect.ValueOf(rapid.Float32().Draw(t, "float"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOf(rapid.Float64().Draw(t, "double"))
	case protoreflect.StringKind:
		return protoreflect.ValueOf(strings.ToValidUTF8(rapid.String().Draw(t, "string"), "?"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOf(rapid.SliceOfN(rapid.Byte(), 0, 200>>(small%8)).Draw(t, "bytes"))
	case protoreflect.EnumKind:
		if small < 8 && !f.Enum().IsClosed() && f.Enum().FullName() != "google.protobuf.NullValue" {
			return protoreflect.ValueOf(protoreflect.EnumNumber(int32(bits)))
		}
		values := f.Enum().Values()
		return protoreflect.ValueOf(values.Get(small % values.Len()).Number())
	default:
		m := dynamicpb.NewMessage(f.Message())
		randomValue(t, m, max(depth-1, 0))
		return protoreflect.ValueOf(m.ProtoReflect())
	}
}
