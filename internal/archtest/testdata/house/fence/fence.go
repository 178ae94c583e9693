// Package fence is where unsafe may stand.
package fence

import "unsafe"

// Size is known.
const Size = unsafe.Sizeof(0)
