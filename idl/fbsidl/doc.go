// Package fbsidl reads the schema language of FlatBuffers and produces [schema]
// files.
//
// It accepts what flatc accepts and refuses what flatc refuses, but for the
// differences that RATIONALE.md lists, and reports what is wrong as diagnostics with
// positions: several in one run, each with a stable code. What flatc accepts and
// hardly anyone means is a warning.
//
// What FlatBuffers calls what in the schema: a table is a struct whose field ids
// are the slots of its vtable, from 0; a struct is a fixed struct; a union is a
// tagged union whose field ids are the values of its type, and a field of a
// union has the id of its second slot, that of the value. A vector is a list. A field
// with the default null is optional, as is one that is no scalar and neither
// required nor has a default. Attributes are annotations. A declaration's package is its
// namespace. attribute "go_package=example.com/x" is the file's namespace for "go".
//
// [DecodeBinary] and [AppendBinary] read and write the binary form of a schema.
//
// The package reads schemas and nothing else: it knows the wire format only as far as
// binary schemas are written in it, and no Go types and no generator.
package fbsidl
