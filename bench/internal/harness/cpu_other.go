//go:build !unix

package harness

import "time"

// cpuTime is not told by this system.
func cpuTime() (t time.Duration, known bool) { return 0, false }
