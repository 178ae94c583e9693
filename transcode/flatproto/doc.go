// Package flatproto converts messages of FlatBuffers to Protobuf and back by the
// schema of FlatBuffers, in one pass and without an intermediate tree, and writes the .proto
// file that Protobuf's own tools read these messages by.
//
// # The mapping
//
// Tables and structs are messages, and a field has the number of its id plus one; a union's id is that
// of its value, as its type has an id of its own. Integers of up to 32 bits are int32 and uint32, those of 64
// int64 and uint64, float and double are themselves. Enums are enums; those of
// bit_flags, and those whose type is uint, long or ulong, are integers. Strings are strings, which must be UTF-8;
// vectors and arrays of ubyte are bytes; other vectors and arrays are repeated fields, packed where they are
// numbers, and taken either way. What nested_flatbuffer and flexbuffer hold stays bytes. Deprecated fields do
// not travel.
//
// A union is a message with a oneof, in which a member has the number of its type. So a union that is NONE is
// absent, or in a vector an empty message. Of several members in one message the last counts, as in Protobuf. A
// member of FlatBuffers that the schema does not have is InvalidUnion: it would be lost.
//
// # Absent fields
//
// Absent numbers are the default of the schema. Where that is not zero, and for optional ones, the field is
// "optional" in the .proto file, and is always written, so that both sides mean the same. Strings and bytes
// are "optional" too and keep the difference between empty and absent, unless they are required: then, and for required vectors,
// absent is empty. Empty vectors that are not required become absent. A required table, struct or
// union that is absent is a fault. In a struct what is absent is zero; an array has all its elements or none.
//
// # Reading
//
// Fields that the schema does not have, or that have another wire type, are skipped, unless RejectUnknown
// says otherwise. Singular fields that stand more than once are merged as Protobuf has it: the last number or string
// counts, messages are as if one followed the other. Vectors of tables or structs with a key are sorted by it. A
// number that the type cannot hold is a fault; integers of Protobuf's 32 bits are cut to these first.
//
// # Limits and errors
//
// Tables nest 64 levels deep, and what is made of a message has 64 MiB unless MaxOutput says otherwise, because
// parts of a message may be shared, and absent structs take room: a small message can mean much. Messages of FlatBuffers are verified before they are read,
// unless Trusted says that they have been; no bytes make anything panic or read outside the input. Errors are
// *diag.Fault with the offset in the input and the path.
//
// A Converter is immutable and safe for concurrent use; results alias nothing.
//
// The package must not know services at work: where messages come from and go to is its users' business.
package flatproto
