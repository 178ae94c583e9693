// Package random makes random struct types, random values of them and the
// Thrift bytes of such values, for property tests of everything that is driven
// by a schema. The same source of randomness gives the same results.
//
// Values are plain trees of Go values, made to be walked by a test's own
// model; the package knows no codec and shares no code with any, so that
// its bytes are an independent witness.
package random
