// Package interop tests Thrum against the real libraries of others: Apache
// Thrift for Python and for Java call the demo's service, Thrum's client calls
// servers made with them, and all results are equal: binary and compact, with
// and without frames, and in the header transport with and without zlib.
//
// There is one list of calls, testdata/calls.json, with arguments and wanted
// results as JSON. Each peer reads it, converts it with its own generated code
// (from the IDL in examples/shop, by Debian's Thrift compiler), and prints what
// it got; the tests compare field by field.
//
// The peers need tools that Go does not bring; setup.sh installs them. Where a
// tool is missing the tests skip, except where the variable CI is set: there
// they fail. Nothing imports this package.
package interop
