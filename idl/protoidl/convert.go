package protoidl

import (
	"strings"

	"github.com/bufbuild/protocompile/ast"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file turns linked descriptors into the schema. They are consistent, so
// nothing can fail here.

// converter makes one schema of a file and all that it imports. Names are
// unique among them.
type converter struct {
	l       *loader
	files   map[string]*schema.File
	order   []protoreflect.FileDescriptor // each after those that it imports
	structs map[protoreflect.FullName]*schema.StructDef
	enums   map[protoreflect.FullName]*schema.EnumDef
	specs   map[string]*schema.FileSpec
	later   []func() // what has to wait until all messages are complete
}

// convert declares everything, completes messages, which may refer to each
// other, and then what refers to them.
func convert(root protoreflect.FileDescriptor, l *loader) *schema.File {
	c := &converter{
		l: l, files: make(map[string]*schema.File), specs: make(map[string]*schema.FileSpec),
		structs: make(map[protoreflect.FullName]*schema.StructDef), enums: make(map[protoreflect.FullName]*schema.EnumDef),
	}
	c.declare(root)
	for _, fd := range c.order {
		c.messages(fd.Messages())
	}
	for _, fd := range c.order {
		c.finish(fd)
	}
	for len(c.later) > 0 {
		run := c.later[len(c.later)-1]
		c.later = c.later[:len(c.later)-1]
		run() // which may add more
	}
	return c.files[root.Path()]
}

// declare makes the file, what it imports, its enums and its empty messages.
func (c *converter) declare(fd protoreflect.FileDescriptor) {
	path := fd.Path()
	if c.files[path] != nil {
		return
	}
	shown := path
	if src := c.l.sources[path]; src != nil {
		shown = src.Name
	}
	f, spec := schema.NewFile(shown), &schema.FileSpec{Package: string(fd.Package())}
	c.files[path], c.specs[path] = f, spec
	imports := fd.Imports()
	for i := range imports.Len() {
		if imp := imports.Get(i); !imp.IsPlaceholder() {
			c.declare(imp.FileDescriptor)
			spec.Includes = append(spec.Includes, schema.Include{
				Path: imp.Path(), Alias: string(imp.Package()), File: c.files[imp.Path()], Span: c.importSpan(fd, imp.Path()),
			})
		}
	}
	c.order = append(c.order, fd)
	c.declareEnums(f, spec, fd.Enums())
	c.declareMessages(f, spec, fd.Messages())
}

func (c *converter) declareMessages(f *schema.File, spec *schema.FileSpec, list protoreflect.MessageDescriptors) {
	for i := range list.Len() {
		md := list.Get(i)
		if md.IsMapEntry() {
			continue
		}
		d := schema.NewStruct(c.decl(f, md), schema.PlainStruct)
		c.structs[md.FullName()] = d
		spec.Structs = append(spec.Structs, d)
		c.declareEnums(f, spec, md.Enums())
		c.declareMessages(f, spec, md.Messages())
	}
}

func (c *converter) declareEnums(f *schema.File, spec *schema.FileSpec, list protoreflect.EnumDescriptors) {
	for i := range list.Len() {
		ed := list.Get(i)
		values := make([]*schema.EnumValue, ed.Values().Len())
		for k := range values {
			v := ed.Values().Get(k)
			d := c.decl(f, v)
			values[k] = &schema.EnumValue{Name: string(v.Name()), Value: int64(v.Number()), Doc: d.Doc, Annotations: d.Annotations, Span: d.Span}
		}
		create := schema.NewEnum
		if ed.IsClosed() {
			create = schema.NewClosedEnum
		}
		e := create(c.decl(f, ed), values)
		c.enums[ed.FullName()] = e
		spec.Enums = append(spec.Enums, e)
	}
}

// messages gives the declared messages their fields.
func (c *converter) messages(list protoreflect.MessageDescriptors) {
	for i := range list.Len() {
		md := list.Get(i)
		d := c.structs[md.FullName()]
		if d == nil {
			continue // an entry of a map
		}
		oneofs := make(map[protoreflect.FullName]*schema.Oneof)
		fields := make([]*schema.Field, md.Fields().Len())
		for k := range fields {
			fields[k] = c.field(d.File(), md.Fields().Get(k), oneofs)
		}
		d.Complete(fields)
		c.messages(md.Messages())
	}
}

func (c *converter) field(f *schema.File, fd protoreflect.FieldDescriptor, oneofs map[protoreflect.FullName]*schema.Oneof) *schema.Field {
	d := c.decl(f, fd)
	spec := schema.FieldSpec{
		ID: int32(fd.Number()), Name: string(fd.Name()), Type: c.fieldType(fd), Packed: fd.IsPacked(),
		JSONName: fd.JSONName(), Default: c.defaultOf(fd), Doc: d.Doc, Annotations: d.Annotations, Span: d.Span,
	}
	switch {
	case fd.Cardinality() == protoreflect.Required:
		spec.Requiredness = schema.Required
	case fd.HasPresence():
		spec.Requiredness = schema.Optional
	}
	if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
		o := oneofs[od.FullName()]
		if o == nil {
			o = schema.NewOneof(c.decl(f, od))
			oneofs[od.FullName()] = o
		}
		spec.Oneof = o
	}
	return schema.NewField(spec)
}

func (c *converter) fieldType(fd protoreflect.FieldDescriptor) *schema.Type {
	switch {
	case fd.IsMap():
		return schema.MapOf(c.single(fd.MapKey()), c.single(fd.MapValue()))
	case fd.IsList():
		return schema.ListOf(c.single(fd))
	}
	return c.single(fd)
}

// numbers are the types of numbers with how they are written.
var numbers = map[protoreflect.Kind]*schema.Type{
	protoreflect.BoolKind: schema.Basic(schema.Bool), protoreflect.FloatKind: schema.Basic(schema.Float), protoreflect.DoubleKind: schema.Basic(schema.Double),
	protoreflect.Int32Kind: schema.Basic(schema.I32), protoreflect.Sint32Kind: schema.Basic(schema.I32).WithEncoding(schema.ZigZag),
	protoreflect.Sfixed32Kind: schema.Basic(schema.I32).WithEncoding(schema.Fixed),
	protoreflect.Uint32Kind:   schema.Basic(schema.U32), protoreflect.Fixed32Kind: schema.Basic(schema.U32).WithEncoding(schema.Fixed),
	protoreflect.Int64Kind: schema.Basic(schema.I64), protoreflect.Sint64Kind: schema.Basic(schema.I64).WithEncoding(schema.ZigZag),
	protoreflect.Sfixed64Kind: schema.Basic(schema.I64).WithEncoding(schema.Fixed),
	protoreflect.Uint64Kind:   schema.Basic(schema.U64), protoreflect.Fixed64Kind: schema.Basic(schema.U64).WithEncoding(schema.Fixed),
	protoreflect.StringKind: schema.Basic(schema.String), protoreflect.BytesKind: schema.Basic(schema.Binary),
}

// single returns the type of one value of the field.
func (c *converter) single(fd protoreflect.FieldDescriptor) *schema.Type {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		return c.enums[fd.Enum().FullName()].Type()
	case protoreflect.MessageKind:
		return c.structs[fd.Message().FullName()].Type()
	case protoreflect.GroupKind:
		return c.structs[fd.Message().FullName()].Type().WithEncoding(schema.Delimited)
	}
	return numbers[fd.Kind()]
}

// finish completes the file with its services and its own options.
func (c *converter) finish(fd protoreflect.FileDescriptor) {
	f, spec := c.files[fd.Path()], c.specs[fd.Path()]
	for i := range fd.Services().Len() {
		sd := fd.Services().Get(i)
		s := schema.NewService(c.decl(f, sd))
		methods := make([]*schema.Method, sd.Methods().Len())
		for k := range methods {
			methods[k] = c.method(f, sd.Methods().Get(k))
		}
		s.Complete(nil, methods)
		spec.Services = append(spec.Services, s)
	}
	for _, a := range c.annotations(fd.Options(), diag.Span{}) {
		if language, ok := strings.CutSuffix(a.Name, "_package"); ok {
			spec.Namespaces = append(spec.Namespaces, schema.Namespace{Language: language, Name: a.Value})
		}
		spec.Annotations = append(spec.Annotations, a)
	}
	f.Complete(*spec)
}

func (c *converter) method(f *schema.File, md protoreflect.MethodDescriptor) *schema.Method {
	in, out := c.structs[md.Input().FullName()].Type(), c.structs[md.Output().FullName()].Type()
	var kind schema.StreamKind
	switch client, server := md.IsStreamingClient(), md.IsStreamingServer(); {
	case client && server:
		kind = schema.BidirectionalStream
	case client:
		kind = schema.ClientStream
	case server:
		kind = schema.ServerStream
	}
	return schema.NewMessageMethod(schema.MethodSpec{DeclSpec: c.decl(f, md)}, kind, in, out)
}

// decl returns what every declaration has. The name is the one within the
// package, but for parts of messages, enums and services, which have their own.
func (c *converter) decl(f *schema.File, d protoreflect.Descriptor) schema.DeclSpec {
	name := string(d.Name())
	switch d.(type) {
	case protoreflect.MessageDescriptor, protoreflect.EnumDescriptor:
		name = string(d.FullName())
		if p := string(d.ParentFile().Package()); p != "" {
			name = strings.TrimPrefix(name, p+".")
		}
	}
	span := c.nameSpan(d)
	return schema.DeclSpec{Name: name, File: f, Doc: doc(d), Annotations: c.annotations(d.Options(), span), Span: span}
}

// doc returns the comment before the declaration, else the one behind it.
func doc(d protoreflect.Descriptor) string {
	loc := d.ParentFile().SourceLocations().ByDescriptor(d)
	text := loc.LeadingComments
	if text == "" {
		text = loc.TrailingComments
	}
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(line, " "), " \t\r")
	}
	return strings.Join(lines, "\n")
}

// nameSpan returns the place of a declaration's name, or none where the file
// came without text.
func (c *converter) nameSpan(d protoreflect.Descriptor) diag.Span {
	r, ok := d.ParentFile().(linker.Result)
	if !ok || r.AST() == nil {
		return diag.Span{}
	}
	var name ast.Node
	switch n := r.Node(protoutil.ProtoFromDescriptor(d)).(type) {
	case ast.MessageDeclNode: // a group is a message and a field
		name = n.MessageName()
	case ast.FieldDeclNode:
		name = n.FieldName()
	case ast.OneofDeclNode:
		name = n.OneofName()
	case *ast.EnumNode:
		name = n.Name
	case *ast.ServiceNode:
		name = n.Name
	case interface{ GetName() ast.Node }: // of enum values and methods
		name = n.GetName()
	default:
		return diag.Span{}
	}
	return c.l.span(r.AST().NodeInfo(name))
}

// importSpan returns the place of an import's path.
func (c *converter) importSpan(fd protoreflect.FileDescriptor, path string) diag.Span {
	r, ok := fd.(linker.Result)
	if !ok || r.AST() == nil {
		return diag.Span{}
	}
	for _, decl := range r.AST().Decls {
		if n, ok := decl.(*ast.ImportNode); ok && n.Name.AsString() == path {
			return c.l.span(r.AST().NodeInfo(n.Name))
		}
	}
	return diag.Span{}
}
