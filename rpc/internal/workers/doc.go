// Package workers is the pool of goroutines that runs a server's calls: a
// bounded number of them, one queue per priority, and as few switches between
// goroutines as the work allows. It knows nothing of calls, connections or
// time limits: a [Task] is something that can be run, and what waits too long
// is for its Run to see.
package workers
