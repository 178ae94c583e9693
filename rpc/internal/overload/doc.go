// Package overload holds the ways in which a server tells that it has too
// much to do: [TokenBucket] by the rate of requests, [CoDel] by how long they
// wait, [Adaptive] by how long they take. Each is plain arithmetic on a clock
// that the caller reads: "now" is in nanoseconds since any moment, and should
// not go back. What to do with a request, and what to answer, is the caller's
// business; nothing here knows of requests, queues or goroutines.
package overload
