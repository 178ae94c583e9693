// Package resolve finds the addresses of a service and keeps them up to date.
//
// A [Resolver] watches a source of addresses and hands on each whole set of them.
// [Static] is a list that never changes, [DNS] asks name servers again and again;
// others, such as one for etcd, are packages of their own. Package cluster is
// who listens: it calls the addresses and decides among them.
//
// The package must not know connections, calls or balancing.
package resolve
