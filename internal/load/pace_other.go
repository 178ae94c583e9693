//go:build !linux

package load

import "time"

// sharpen has nothing to do here.
func sharpen() {}

// pause sleeps.
func pause(d time.Duration) { time.Sleep(d) }
