// Package evolution tells whether a schema can take the place of an older one:
// whether what was written with either is read the same with the other.
//
// An error is a change that makes bytes mean something else or unreadable for
// some reader; a warning is one that only concerns names, generated code, or
// readers that are strict. The package compares schemas and knows no IDL: of a
// wire format it knows only what [Format] says.
package evolution
