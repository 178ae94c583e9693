// Package load drives a server of Thrift, or of messages over tRPC and gRPC, with requests that were encoded
// beforehand, checks every reply, and measures what the server does. It needs
// no client and decodes no arguments: it patches sequence ids into frames and
// reads envelopes, so that one core of it keeps up with a server that spends a
// tenth of a microsecond on a request.
//
// # Closed and open loop
//
// In a closed loop (Rate is 0) each connection keeps Depth requests
// outstanding: a reply makes room for the next request. That measures what a
// server can do, and its latency is what such clients wait. When the server
// stalls, the load stalls with it, so few requests see the stall: the latency
// of a closed loop must not be read as what callers see that come at their own
// times. Result has no figure that corrects for this. A correction assumes
// how often requests would have come, which a closed loop does not say, and
// the figure would follow the assumption.
//
// In an open loop requests come at times that do not depend on the replies:
// evenly, or as independent callers do (Poisson). Latency counts from the time
// at which a request was to be sent, so waiting for a server that cannot keep
// up, or for one of Depth places, is part of it. [Result].Lag says how much of
// it is the generator's own lateness.
//
// # What it must not know
//
// Methods, schemas and their values: a request is bytes with a place for its
// sequence id. The loop knows nothing of servers of this module either.
package load
