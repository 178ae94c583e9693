package protobuf_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the oracle: random descriptors with their schema, random
// messages of them, and what Google's library says is in one.

// corpus is a random file with its messages and their schema.
type corpus struct {
	rng      *rand.Rand
	messages []protoreflect.MessageDescriptor
	structs  map[protoreflect.FullName]*schema.StructDef
	enums    map[protoreflect.FullName]*schema.EnumDef
}

var scalarTypes = []descriptorpb.FieldDescriptorProto_Type{
	descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT, descriptorpb.FieldDescriptorProto_TYPE_INT64,
	descriptorpb.FieldDescriptorProto_TYPE_UINT64, descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	descriptorpb.FieldDescriptorProto_TYPE_FIXED32, descriptorpb.FieldDescriptorProto_TYPE_BOOL, descriptorpb.FieldDescriptorProto_TYPE_STRING,
	descriptorpb.FieldDescriptorProto_TYPE_BYTES, descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_ENUM,
	descriptorpb.FieldDescriptorProto_TYPE_SFIXED32, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64, descriptorpb.FieldDescriptorProto_TYPE_SINT32,
	descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE,
	descriptorpb.FieldDescriptorProto_TYPE_GROUP,
}

var keyTypes = []descriptorpb.FieldDescriptorProto_Type{
	descriptorpb.FieldDescriptorProto_TYPE_INT64, descriptorpb.FieldDescriptorProto_TYPE_UINT64, descriptorpb.FieldDescriptorProto_TYPE_INT32,
	descriptorpb.FieldDescriptorProto_TYPE_FIXED64, descriptorpb.FieldDescriptorProto_TYPE_FIXED32, descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_SINT32,
	descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64,
}

const messageCount = 4

// newCorpus draws a file. The same seed gives the same file.
func newCorpus(t testing.TB, seed uint64) *corpus {
	c := &corpus{
		rng:     rand.New(rand.NewPCG(seed, 1)),
		structs: map[protoreflect.FullName]*schema.StructDef{}, enums: map[protoreflect.FullName]*schema.EnumDef{},
	}
	syntax := []string{"proto2", "proto3"}[c.rng.IntN(2)]
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("t.proto"), Syntax: &syntax, EnumType: []*descriptorpb.EnumDescriptorProto{{
		Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("ZERO"), Number: proto.Int32(0)}, {Name: proto.String("ONE"), Number: proto.Int32(1)}, {Name: proto.String("LOW"), Number: proto.Int32(-5)}},
	}}}
	for i := range messageCount {
		file.MessageType = append(file.MessageType, c.message(i, syntax == "proto2"))
	}
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range fd.Messages().Len() {
		c.messages = append(c.messages, fd.Messages().Get(i))
	}
	e := fd.Enums().Get(0)
	var values []*schema.EnumValue
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		values = append(values, &schema.EnumValue{Name: string(v.Name()), Value: int64(v.Number())})
	}
	c.enums[e.FullName()] = schema.NewEnum(schema.DeclSpec{Name: "E"}, values)
	all := c.messages
	for _, md := range c.messages {
		for i := range md.Messages().Len() {
			if group := md.Messages().Get(i); !group.IsMapEntry() {
				all = append(all, group)
			}
		}
	}
	for _, md := range all {
		c.structs[md.FullName()] = schema.NewStruct(schema.DeclSpec{Name: string(md.FullName())}, schema.PlainStruct)
	}
	for _, md := range all {
		c.complete(md)
	}
	return c
}

// message draws a message with two members of a oneof among its fields.
func (c *corpus) message(i int, proto2 bool) *descriptorpb.DescriptorProto {
	name := fmt.Sprintf("M%d", i)
	m := &descriptorpb.DescriptorProto{Name: &name, OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}}
	numbers := c.rng.Perm(14)
	for k := range 3 + c.rng.IntN(6) {
		number := int32(numbers[k] + 1)
		if c.rng.IntN(8) == 0 {
			number = 100 + number*1000
		}
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(fmt.Sprintf("f%d", number)), Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		c.kind(f, scalarTypes, proto2)
		switch n := c.rng.IntN(8); {
		case k < 2:
			f.OneofIndex = proto.Int32(0)
		case n < 3:
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			if packed := c.rng.IntN(2) == 0; f.TypeName == nil && *f.Type != descriptorpb.FieldDescriptorProto_TYPE_STRING && *f.Type != descriptorpb.FieldDescriptorProto_TYPE_BYTES {
				f.Options = &descriptorpb.FieldOptions{Packed: &packed}
			}
		case n < 5:
			c.mapOf(m, name, f, proto2)
		}
		if *f.Type == descriptorpb.FieldDescriptorProto_TYPE_GROUP {
			c.groupOf(m, name, f)
		}
		m.Field = append(m.Field, f)
	}
	return m
}

func (c *corpus) kind(f *descriptorpb.FieldDescriptorProto, from []descriptorpb.FieldDescriptorProto_Type, proto2 bool) {
	k := from[c.rng.IntN(len(from))]
	if k == descriptorpb.FieldDescriptorProto_TYPE_GROUP && !proto2 {
		k = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	f.Type = &k
	switch k {
	case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
		f.TypeName = proto.String(".E")
	case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
		f.TypeName = proto.String(fmt.Sprintf(".M%d", c.rng.IntN(messageCount)))
	}
}

// groupOf declares the group of f in m, where it must stand.
func (c *corpus) groupOf(m *descriptorpb.DescriptorProto, parent string, f *descriptorpb.FieldDescriptorProto) {
	group := fmt.Sprintf("G%d", *f.Number)
	f.Name, f.TypeName = proto.String(strings.ToLower(group)), proto.String("."+parent+"."+group)
	part := func(number int32) *descriptorpb.FieldDescriptorProto {
		p := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(fmt.Sprintf("f%d", number)), Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		c.kind(p, scalarTypes[:len(scalarTypes)-1], true)
		return p
	}
	m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: &group, Field: []*descriptorpb.FieldDescriptorProto{part(1), part(20)}})
}

// mapOf makes f a map, with the message of its entries in m.
func (c *corpus) mapOf(m *descriptorpb.DescriptorProto, parent string, f *descriptorpb.FieldDescriptorProto, proto2 bool) {
	key := &descriptorpb.FieldDescriptorProto{Name: proto.String("key"), Number: proto.Int32(1), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	value := &descriptorpb.FieldDescriptorProto{Name: proto.String("value"), Number: proto.Int32(2), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	c.kind(key, keyTypes, proto2)
	c.kind(value, scalarTypes[:len(scalarTypes)-1], proto2)
	entry := fmt.Sprintf("F%dEntry", *f.Number)
	m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
		Name: &entry, Field: []*descriptorpb.FieldDescriptorProto{key, value}, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}})
	f.Label, f.Type = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	f.TypeName = proto.String("." + parent + "." + entry)
}

func (c *corpus) complete(md protoreflect.MessageDescriptor) {
	oneof := schema.NewOneof(schema.DeclSpec{Name: "choice"})
	var fields []*schema.Field
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		spec := schema.FieldSpec{ID: int32(fd.Number()), Name: string(fd.Name()), Packed: fd.IsPacked()}
		switch {
		case fd.IsMap():
			spec.Type = schema.MapOf(c.typeOf(fd.MapKey()), c.typeOf(fd.MapValue()))
		case fd.IsList():
			spec.Type = schema.ListOf(c.typeOf(fd))
		default:
			spec.Type = c.typeOf(fd)
		}
		if fd.HasPresence() {
			spec.Requiredness = schema.Optional
		}
		if fd.ContainingOneof() != nil {
			spec.Oneof = oneof
		}
		fields = append(fields, schema.NewField(spec))
	}
	c.structs[md.FullName()].Complete(fields)
}

func (c *corpus) typeOf(fd protoreflect.FieldDescriptor) *schema.Type {
	kinds := map[protoreflect.Kind]struct {
		kind     schema.Kind
		encoding schema.Encoding
	}{
		protoreflect.BoolKind: {schema.Bool, 0}, protoreflect.Int32Kind: {schema.I32, 0}, protoreflect.Sint32Kind: {schema.I32, schema.ZigZag},
		protoreflect.Uint32Kind: {schema.U32, 0}, protoreflect.Int64Kind: {schema.I64, 0}, protoreflect.Sint64Kind: {schema.I64, schema.ZigZag},
		protoreflect.Uint64Kind: {schema.U64, 0}, protoreflect.Sfixed32Kind: {schema.I32, schema.Fixed}, protoreflect.Fixed32Kind: {schema.U32, schema.Fixed},
		protoreflect.FloatKind: {schema.Float, 0}, protoreflect.Sfixed64Kind: {schema.I64, schema.Fixed}, protoreflect.Fixed64Kind: {schema.U64, schema.Fixed},
		protoreflect.DoubleKind: {schema.Double, 0}, protoreflect.StringKind: {schema.String, 0}, protoreflect.BytesKind: {schema.Binary, 0},
	}
	switch fd.Kind() {
	case protoreflect.EnumKind:
		return c.enums[fd.Enum().FullName()].Type()
	case protoreflect.MessageKind:
		return c.structs[fd.Message().FullName()].Type()
	case protoreflect.GroupKind:
		return c.structs[fd.Message().FullName()].Type().WithEncoding(schema.Delimited)
	}
	k := kinds[fd.Kind()]
	return schema.Basic(k.kind).WithEncoding(k.encoding)
}

// schema returns the type of a message.
func (c *corpus) schema(md protoreflect.MessageDescriptor) *schema.Type {
	return c.structs[md.FullName()].Type()
}

// fill gives m random fields.
func (c *corpus) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if c.rng.IntN(3) == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			for range c.rng.IntN(4) {
				key := c.scalar(fd.MapKey())
				if fd.MapValue().Message() != nil {
					v := m.Mutable(fd).Map().NewValue()
					if depth > 0 {
						c.fill(v.Message(), depth-1)
					}
					m.Mutable(fd).Map().Set(key.MapKey(), v)
				} else {
					m.Mutable(fd).Map().Set(key.MapKey(), c.scalar(fd.MapValue()))
				}
			}
		case fd.IsList():
			for range c.rng.IntN(5) {
				if fd.Message() != nil {
					v := m.Mutable(fd).List().AppendMutable()
					if depth > 0 {
						c.fill(v.Message(), depth-1)
					}
				} else {
					m.Mutable(fd).List().Append(c.scalar(fd))
				}
			}
		case fd.Message() != nil:
			if depth > 0 {
				c.fill(m.Mutable(fd).Message(), depth-1)
			}
		default:
			m.Set(fd, c.scalar(fd))
		}
	}
}

func (c *corpus) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	bits := c.rng.Uint64() >> c.rng.IntN(64)
	if c.rng.IntN(6) == 0 {
		bits = []uint64{0, math.MaxUint64, 1 << 63, math.MaxInt32}[c.rng.IntN(4)]
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(bits&1 == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum([]protoreflect.EnumNumber{0, 1, -5, 77}[bits%4])
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(bits))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(bits))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(bits))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(bits)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(int64(bits)) / 8)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(int64(bits)) / 8)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprint("s", bits%50))
	default:
		return protoreflect.ValueOfBytes([]byte(fmt.Sprint("b", bits%50)))
	}
}

// draw returns the bytes of a random message: several marshalled ones in one,
// their records in disorder, unknown fields among them.
func (c *corpus) draw(t testing.TB, md protoreflect.MessageDescriptor) []byte {
	var records [][]byte
	for range 1 + c.rng.IntN(2) {
		m := dynamicpb.NewMessage(md)
		c.fill(m, 2)
		b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for len(b) > 0 {
			_, _, n := protowire.ConsumeField(b)
			records = append(records, b[:n])
			b = b[n:]
		}
	}
	switch c.rng.IntN(3) {
	case 0:
		c.rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	case 1:
		for range 3 {
			unknown := protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(500+c.rng.IntN(3)), protowire.VarintType), c.rng.Uint64())
			// A known field of another wire type is unknown too.
			f := md.Fields().Get(c.rng.IntN(md.Fields().Len()))
			other := protowire.AppendTag(nil, f.Number(), protowire.StartGroupType)
			other = protowire.AppendTag(other, f.Number(), protowire.EndGroupType)
			if f.Kind() == protoreflect.GroupKind {
				other = unknown
			}
			records = slices.Insert(records, c.rng.IntN(len(records)+1), unknown, other)
		}
	}
	return slices.Concat(records...)
}

// errNoVerdict says that the oracle cannot judge: it refuses text that is not
// UTF-8, and its dynamic messages panic at some entries of maps whose key has
// another wire type.
var errNoVerdict = errors.New("the oracle has no verdict")

// parse is Google's reading of b.
func parse(md protoreflect.MessageDescriptor, b []byte) (m protoreflect.Message, err error) {
	defer func() {
		if recover() != nil {
			err = errNoVerdict
		}
	}()
	m = dynamicpb.NewMessage(md)
	err = proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(b, m.Interface())
	if err != nil && strings.Contains(err.Error(), "UTF-8") {
		err = errNoVerdict
	}
	return m, err
}

func mustParse(t testing.TB, md protoreflect.MessageDescriptor, b []byte) protoreflect.Message {
	t.Helper()
	m, err := parse(md, b)
	if err != nil {
		t.Fatalf("the oracle refuses %x: %v", b, err)
	}
	return m
}

// same compares two messages without their unknown fields, NaN being itself.
func same(a, b protoreflect.Message) bool { return show(a) == show(b) }

func show(m protoreflect.Message) string { return fmt.Sprintf("%#v", content(m)) }

// content is what a message holds, as Value.Any shows it.
func content(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			entries := map[any]any{}
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				entries[k.Interface()] = goValue(e)
				return true
			})
			out[string(fd.Name())] = entries
		case fd.IsList():
			list := []any{}
			for i := range v.List().Len() {
				list = append(list, goValue(v.List().Get(i)))
			}
			out[string(fd.Name())] = list
		default:
			out[string(fd.Name())] = goValue(v)
		}
		return true
	})
	return out
}

func goValue(v protoreflect.Value) any {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		return content(x)
	case protoreflect.EnumNumber:
		return int32(x)
	case []byte:
		return append([]byte{}, x...) // never nil, which the library's may be
	default:
		return x
	}
}

// withoutZeros drops from what Value.Any shows the zeros that mean absence.
func withoutZeros(v any, t *schema.Type) any {
	switch x := v.(type) {
	case map[string]any:
		for name, e := range x {
			f := t.Struct().FieldByName(name)
			if e = withoutZeros(e, f.Type()); f.Requiredness() == schema.Default && !f.Type().Kind().IsContainer() && isZero(e) {
				delete(x, name)
			}
		}
	case []any:
		for _, e := range x {
			withoutZeros(e, t.Elem())
		}
	case map[any]any:
		for _, e := range x {
			withoutZeros(e, t.Elem())
		}
	}
	return v
}

func isZero(v any) bool {
	switch x := v.(type) {
	case bool:
		return !x
	case string:
		return x == ""
	case []byte:
		return len(x) == 0
	case float32:
		return math.Float32bits(x) == 0
	case float64:
		return math.Float64bits(x) == 0
	case int32, int64, uint32, uint64:
		return fmt.Sprint(x) == "0"
	}
	return false
}

// each runs f on random messages of random types.
func each(t *testing.T, count int, f func(c *corpus, md protoreflect.MessageDescriptor, b []byte)) {
	if testing.Short() {
		count = (count + 2) / 3
	}
	for seed := range uint64(count) {
		c := newCorpus(t, seed)
		for _, md := range c.messages {
			for range 3 {
				b := c.draw(t, md)
				f(c, md, b)
				if t.Failed() {
					t.Logf("seed %d, message %s, bytes %x", seed, md.Name(), b)
					return
				}
			}
		}
	}
}
