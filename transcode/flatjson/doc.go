// Package flatjson converts JSON to FlatBuffers and back by a schema, as flatc
// does, in one pass and without an intermediate tree.
//
// # The mapping
//
// Tables and structs are objects, vectors and arrays are arrays. Of a struct all
// fields must be there, and it may be an array of their values, as may a table inside another
// with the values of all its fields. A union x is two
// members: x_type, the name of the member of the union, and x, its value; they may
// come in either order. Of a vector of unions x_type is an array of names. Enums are
// names, those of bit_flags several with spaces between them, and numbers where a
// value has no name. Numbers and bools may stand in strings. Floats that are no numbers are the
// strings "nan", "inf" and "-inf". null leaves a field out. Vectors of tables or structs with
// a key are sorted by it. A field with nested_flatbuffer is what the inner
// message means; one with flexbuffer is any JSON value. A
// string for an integer with the attribute hash is hashed. Scalars that are their default are
// left out, but for keys. A member "$schema" with a string, which editors write, is stepped over.
//
// JSON is strict by default: RFC 8259, no name twice, and none that the schema
// does not have. Lenient reads what flatc reads: names without quotes, single
// quotes, comments, commas before an end, numbers in hexadecimal, signs,
// nan, names of enums without quotes, functions such as rad(180).
//
// Differences from flatc: numbers that a type cannot hold are errors for floats
// and bools too, several names are for bit_flags alone, floats are written with as many
// digits as they need, and 1.0 is an integer. The type of a union whose value is absent is left
// out of JSON, and an error in it. Vectors may be sorted by keys that are structs or arrays, at which flatc ends itself.
//
// # Limits and errors
//
// Tables nest 64 levels deep, a message has 512 MiB, JSON from a message 64 MiB
// unless MaxOutput says otherwise: parts of a message may be shared, so that a
// small one can mean much. Messages are verified before they are read, unless
// Trusted says that they have been; no bytes make anything panic or read outside
// the input. Errors are *diag.Fault with the offset in the input and the path.
//
// A Converter is immutable and safe for concurrent use; results alias nothing.
//
// The mapping is that of flatc 25.12.19 and "Schemas and JSON" in FlatBuffers'
// documentation.
package flatjson
