// Package cluster calls services that have many addresses.
//
// A [Client] is an rpc.Caller, as rpc.Client is for one address, so generated clients work on either. A
// resolver of package resolve tells it the addresses; for each call it chooses one ([Balancer]),
// keeps away from those that are unreachable, fail ([Ejection], [Breaker]) or leave, and makes another
// attempt where that is safe ([Retry], [Hedge]). It opens streams, too, over TTHeader. A [MessageClient] does the same
// for methods on messages, as FlatBuffers have them.
//
// # What is guaranteed
//
// A call that may have run is made again only if its user has said that it may run twice. Attempts are bounded
// by number, by the call's deadline and by a budget for all calls together. Connections are made beside calls: a call waits for one only
// while no other address is connected, and the first stream on an address for one of its own. A connection whose server says that it leaves takes no new calls, and those that
// run on it end; so do streams. After Close there is no goroutine left.
//
// # How an address is chosen
//
// [RoundRobin] gives each its turns. [PowerOfTwo], the default, and [LeastPending] go by the calls that run,
// [PeakEWMA] by how long they take, too: that finds a server that is slow while nobody waits for it, which the others notice in
// ties alone. [ConsistentHash] goes by what is called, and [PreferZone] by where. Whichever it is, warm-up, ejection and breakers decide
// first who can be chosen.
//
// # What happens to a bad address
//
// One that cannot be connected to gets no calls until it can; attempts to connect go on with growing pauses. One that
// fails several times in a row, or much more than the others, is ejected for a while, but never more than a share of
// all. One that fails half of its calls has its breaker opened, whatever the others do: when all fail, calls fail at
// once. What returns warms up: its share of the calls grows.
//
// # Errors
//
// An [*Error] has each attempt with its address. errors.As finds in it what the last attempt
// brought: an *rpc.ApplicationException, an *rpc.BizStatus or an *rpc.Error.
//
// The package must not know where addresses come from, how messages are encoded or what a connection says.
package cluster
