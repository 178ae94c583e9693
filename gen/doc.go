// Package gen writes Go source from a schema: structs that package codec
// reads and writes, enums, constants, exceptions, service interfaces, clients
// and the method tables that a server registers.
//
// The output follows the conventions of Kitex's slim template, so that code
// written against one compiles against the other: names, struct tags, getters
// and constructors are the same where RATIONALE.md gives no reason to differ.
// It holds no codec: a generated package imports package rpc if it declares
// services, and otherwise only the standard library.
//
// # How the work is split
//
// Names are given out first, for all files at once (model.go, naming.go);
// then each file is rendered from the templates in templates/, which ask for
// types (types.go), values (values.go) and imports (imports.go) as they need
// them, so that a file imports what it uses and nothing else.
//
// The package must not know any IDL: what it prints comes from the schema.
package gen
