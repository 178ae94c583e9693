package main

import (
	"fmt"
	"strings"

	_ "github.com/planetscale/vtprotobuf/features/marshal"
	_ "github.com/planetscale/vtprotobuf/features/size"
	_ "github.com/planetscale/vtprotobuf/features/unmarshal"
	"github.com/planetscale/vtprotobuf/generator"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// This file has vtprotobuf's own generator write its methods of the messages of Protobuf.
// Those of all shapes take 3.7 MB and a minute to compile, so those of large
// shapes are not kept: they have a build tag.

// vtKept is up to how many fields a shape has its methods without the tag.
const vtKept = 286

func (g *shapeWriter) vtprotobuf() ([]byte, error) {
	name := "Proto" + g.name
	message := &descriptorpb.DescriptorProto{Name: proto.String(name), Field: []*descriptorpb.FieldDescriptorProto{
		field("id", 1, descriptorpb.FieldDescriptorProto_TYPE_INT64), field("created", 2, descriptorpb.FieldDescriptorProto_TYPE_INT64),
		field("name", 3, descriptorpb.FieldDescriptorProto_TYPE_STRING), field("text", 4, descriptorpb.FieldDescriptorProto_TYPE_STRING),
		field("tags", 5, descriptorpb.FieldDescriptorProto_TYPE_STRING), field("active", 6, descriptorpb.FieldDescriptorProto_TYPE_BOOL),
	}}
	repeated := descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	message.Field[4].Label = repeated
	for i, isMap := range g.isMap {
		f := field(fmt.Sprintf("f%d", i), first+1+i, descriptorpb.FieldDescriptorProto_TYPE_INT32)
		if isMap {
			entry := fmt.Sprintf("F%dEntry", i)
			message.NestedType = append(message.NestedType, &descriptorpb.DescriptorProto{
				Name: proto.String(entry), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*descriptorpb.FieldDescriptorProto{
					field("key", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING), field("value", 2, descriptorpb.FieldDescriptorProto_TYPE_INT32),
				},
			})
			f.Label, f.Type = repeated, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = proto.String(".flat." + name + "." + entry)
		}
		message.Field = append(message.Field, f)
	}
	file := strings.ToLower(g.name) + ".proto"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file},
		ProtoFile: []*descriptorpb.FileDescriptorProto{{
			Name: proto.String(file), Package: proto.String("flat"), Syntax: proto.String("proto3"),
			Options:     &descriptorpb.FileOptions{GoPackage: proto.String("github.com/thrum-rpc/thrum/bench/internal/gen/flat")},
			MessageType: []*descriptorpb.DescriptorProto{message},
		}},
	})
	if err != nil {
		return nil, err
	}
	config := &generator.Config{}
	if first+len(g.isMap) > vtKept {
		config.BuildTag = "vtprotobuf"
	}
	vt, err := generator.NewGenerator(plugin, []string{"marshal", "unmarshal", "size"}, config)
	if err != nil {
		return nil, err
	}
	vt.Generate()
	out := plugin.Response()
	if out.Error != nil || len(out.File) != 1 {
		return nil, fmt.Errorf("%s: %d files: %s", file, len(out.File), out.GetError())
	}
	return []byte(out.File[0].GetContent()), nil
}

func field(name string, number int, t descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(int32(number)), Type: t.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
}
