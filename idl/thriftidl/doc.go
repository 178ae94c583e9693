// Package thriftidl reads Thrift IDL and produces [schema] files.
//
// It accepts what the compilers of Apache Thrift, thriftgo and, where the
// syntax allows, fbthrift accept, and reports what is wrong as diagnostics with
// positions: several in one run, each with a stable code. What only some of the
// compilers accept is a warning, and so is what all accept but hardly anyone
// means. RATIONALE.md lists where it differs from the Apache compiler.
//
// The package reads files and nothing else: it knows no wire format, no Go
// types and no generator.
package thriftidl
