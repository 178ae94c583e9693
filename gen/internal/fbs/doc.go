// Package fbs writes Go from schemas of FlatBuffers: accessors with the names and
// signatures that Google's compiler gives them, the object form, typed builders,
// and verifiers.
//
// Names are given out first, for all files at once (model.go, names.go, naming.go);
// then each file is rendered from templates/, which ask for types (types.go),
// values (values.go), the parts of structs (inline.go), the order of a table's
// fields (order.go) and imports (imports.go). What is hard to see in a template
// stands in those files, what the output looks like only in the templates.
//
// The package knows the schema and the names of package flatbuf. It reads no IDL
// and writes no file.
package fbs
