// Package structs joins Go structs with Protobuf tags to the values of package
// dynamic/protobuf, to Go maps, and to each other, on demand and without generated
// code. It is package dynamic/structs for Protobuf: names mean the same.
//
//   - A [Mapper] reads a [protobuf.Node] or a Go map into a struct, and makes a
//     value or a map of a struct.
//   - A [Converter] makes a struct of one type from one of another that shares
//     fields with it, by number or by name.
//
// # Tags
//
// Tags are those that protoc-gen-go and its relatives write:
//
//	type Book struct {
//		Title  string           `protobuf:"bytes,1,opt,name=title,proto3"`
//		Pages  *int32           `protobuf:"varint,2,opt,name=pages"`
//		Tags   []string         `protobuf:"bytes,3,rep,name=tags"`
//		Prices map[string]int64 `protobuf:"bytes,4,rep,name=prices" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"zigzag64,2,opt,name=value"`
//		Kind   isBook_Kind      `protobuf_oneof:"kind"`
//	}
//
// First stands how the value is written: varint, zigzag32, zigzag64, fixed32,
// fixed64, bytes or group; then the number; then opt, req or rep. Of the rest count
// name=, json=, packed, enum=, proto3 and oneof; others, defaults among them, do not.
// The Go type says what the value is: bool, int32, int64, uint32, uint64, float32, float64,
// string, []byte, a struct or a pointer to one, slices and maps of these. Fields without
// these tags are left alone, but for XXX_unrecognized []byte, which keeps unknown fields.
//
// A field has presence if it is a pointer or a struct, a member of a oneof, or a []byte without the
// word proto3 or with the word oneof. Any other singular field is left out of a message where it
// is zero, unless it is req, and then reads as zero where it is absent.
//
// A oneof is a field of an interface type; its members are structs with one
// field. They are those that the message's method XXX_OneofWrappers returns, or that
// the option [Members] gives.
//
// The package knows dynamic/protobuf and reflect. It must not know generated code, JSON
// or IDL text.
package structs
