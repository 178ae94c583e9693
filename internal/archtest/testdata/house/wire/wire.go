// Package wire is a floor without faults.
package wire

import "errors"

// ErrShort is a value that nothing changes.
var ErrShort = errors.New("short")

var table = [...]string{"a", "b"}

var _ interface{ Name() string } = (*Field)(nil)

// Field is documented.
type Field struct{ id int }

// Name reads a table and changes only what is local.
func (f *Field) Name() string {
	table := table
	table[f.id] = "c"
	f.id++
	return table[f.id]
}
