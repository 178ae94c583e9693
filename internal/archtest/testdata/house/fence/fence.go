// Package fence is where unsafe may stand.
//
//  1. The first invariant has a test.
//  2. The second has none.
package fence

import "unsafe"

// Size is known.
const Size = unsafe.Sizeof(0)
