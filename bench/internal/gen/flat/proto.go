package flat

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoimpl"
	"google.golang.org/protobuf/types/descriptorpb"
)

// This file holds what the messages of Protobuf share. They have the form that
// protoc-gen-go gives them, and protobuf-go runs them in the same way; only
// their descriptors are made from their tags.

// ProtoMessage is the message of Protobuf with the fields of a shape.
type ProtoMessage interface {
	proto.Message
	Fill(v any)
	Read() uint64
}

// protoInfo makes what protobuf-go knows of T.
func protoInfo[T any]() *protoimpl.MessageInfo {
	t := reflect.TypeFor[T]()
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String(t.Name() + ".proto"), Syntax: proto.String("proto3"), Package: proto.String("flat"),
	}
	msg := &descriptorpb.DescriptorProto{Name: proto.String(t.Name())}
	file.MessageType = append(file.MessageType, msg)
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, ok := f.Tag.Lookup("protobuf"); ok {
			addField(msg, "flat."+t.Name(), tag, f.Type)
		}
	}
	desc, err := protodesc.NewFile(file, nil)
	if err != nil {
		panic(err)
	}
	return &protoimpl.MessageInfo{GoReflectType: reflect.TypeFor[*T](), Desc: desc.Messages().Get(0)}
}

// addField declares the field of a tag, such as bytes,5,rep,name=tags,proto3.
func addField(msg *descriptorpb.DescriptorProto, full, tag string, t reflect.Type) {
	parts := strings.Split(tag, ",")
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		panic(err)
	}
	f := &descriptorpb.FieldDescriptorProto{
		Name: proto.String(strings.TrimPrefix(parts[3], "name=")), Number: proto.Int32(int32(number)),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	msg.Field = append(msg.Field, f)
	if parts[2] == "rep" {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if t.Kind() == reflect.Map {
		name := "F" + f.GetName()[1:] + "Entry"
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = proto.String("." + full + "." + name)
		entry := &descriptorpb.DescriptorProto{Name: proto.String(name), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}}
		addField(entry, "", "bytes,1,opt,name=key", reflect.TypeFor[string]())
		addField(entry, "", "varint,2,opt,name=value", reflect.TypeFor[int32]())
		msg.NestedType = append(msg.NestedType, entry)
		return
	}
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int64:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum()
	case reflect.Int32:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()
	case reflect.Bool:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()
	case reflect.String:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
	default:
		panic(fmt.Sprint("a field of type ", t))
	}
}

// reflected is the body of the method ProtoReflect of generated messages.
func reflected[T any](p *T, info *protoimpl.MessageInfo) protoreflect.Message {
	if p == nil {
		return info.MessageOf(p)
	}
	state := protoimpl.X.MessageStateOf(protoimpl.Pointer(p))
	if state.LoadMessageInfo() == nil {
		state.StoreMessageInfo(info)
	}
	return state
}

// fillEntries sets a map, which is made once, to the entries.
func fillEntries(m map[string]int32, entries []*EntryT) map[string]int32 {
	if m == nil {
		m = make(map[string]int32, len(entries))
	}
	clear(m)
	for _, e := range entries {
		m[e.Key] = e.Value
	}
	return m
}

func readEntries(m map[string]int32) (sum uint64) {
	for k, v := range m {
		sum += sumString(k) + uint64(v)
	}
	return sum
}

// sumString is sumText for a string.
func sumString(s string) uint64 {
	if s == "" {
		return 0
	}
	return uint64(len(s)) + uint64(s[0])<<8 + uint64(s[len(s)-1])<<16
}

func readProto(id, created int64, name, text string, tags []string, active bool) uint64 {
	sum := uint64(id) + uint64(created) + sumString(name) + sumString(text)
	for _, t := range tags {
		sum += sumString(t)
	}
	if active {
		sum++
	}
	return sum
}
