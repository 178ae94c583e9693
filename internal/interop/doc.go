// Package interop tests Thrum against the real libraries of others: Apache
// Thrift for Python, Java, Node and C++ call the demo's service, Thrum's client
// calls servers made with them, and all results are equal, in every transport
// and protocol that the library has. table_test.go holds the table of these and
// its gaps: what a library cannot do, and why.
//
// There is one list of calls, testdata/calls.json, with arguments and wanted
// results as JSON. Python and Java read it, convert it with their own generated
// code (from the IDL in examples/shop, by Debian's Thrift compiler), and print
// what they got. Node and C++ forward calls: a server takes them, and a client
// makes them again, both of generated code, with Thrum before and behind. The
// tests compare field by field.
//
// fbthrift is packaged for no language, so no test here runs it:
// testdata/fbthrift.txt holds what its clients send, written by hand byte by
// byte, and what a server answers.
//
// FlatBuffers' Python library reads what we write and the reverse
// (flatpython_test.go, python/flat.py), on the schema with a field of every kind.
//
// flatc is the oracle for FlatBuffers: it accepts and refuses the same schemas as
// idl/fbsidl, its binary schemas say the same, and --conform finds what
// schema/evolution finds.
//
// Rust's libraries take minutes to build, so they are not among the peers unless
// rust.sh builds them and runs these tests.
//
// The peers need tools that Go does not bring; setup.sh installs them. Where a
// tool is missing the tests skip, except where the variable CI is set: there
// they fail. Nothing imports this package.
package interop
