// Package fbs has the FlatBuffers schema with which packages that work by schemas
// are tested: a table with a field of every kind. It knows nothing of who reads it.
package fbs

import _ "embed"

//go:embed every.fbs
var every string

// Every returns the text of every.fbs; its root is the table Every.
func Every() string { return every }
