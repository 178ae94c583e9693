// Package rpctest lets tests call services in memory, without a network: the
// same server and client as over TCP, joined by pipes.
//
// It knows rpc and testing, and no encoding.
package rpctest
