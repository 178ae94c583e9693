// Package flatsuite is the suite "flatbuffers": messages of 6 to 1286 fields,
// without maps (f6 … f1126) and with maps (m6 … m1286), built, read, verified and
// passed through the object form, ours against Google's Go runtime.
//
// Messages are those of internal/gen/flat. Google's side is written as flatc
// writes it: google builds with a builder that is reused by Reset and without
// a slice per vector, google-object with the object form's Pack.
package flatsuite
