// Package conform says what the Thrift wire formats mean, once, for every
// engine: a corpus of cases as data, a model that encodes and decodes slowly
// and obviously, and random schemas and values to compare engines on. It is
// for tests only.
//
// Values are those of package schema, so a case can be written down, printed
// and compared without any Go type: see [Parse] and [Format].
//
// The corpus lies under testdata; its README says how a case is written.
//
// The package knows the wire formats and schemas. It must not know any engine:
// those are handed to it as an [Engine].
package conform
