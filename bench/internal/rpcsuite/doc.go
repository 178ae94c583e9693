// Package rpcsuite is the suite "rpc": what servers cost.
//
// Every server is a process of its own on a core of its own, and the load
// generator another one on another core. Processor time is what the operating
// system counts for the server's process, in the kernel and outside, between
// the beginning and the end of what is measured, divided by the replies that
// came in between. Servers in Go and the generator are this program again,
// started with an argument that [Child] knows; the others are built from native
// when they are needed.
//
// The package knows servers and bytes on the wire. How targets are printed is
// the harness's business.
package rpcsuite
