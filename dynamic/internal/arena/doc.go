// Package arena holds the nodes of a tree in one slice, and the order among them: which
// node is a part of which, and what stands beside it. The trees of Thrift's and of
// Protobuf's messages are made of it.
//
// It must not know what bytes mean, nor what kinds of nodes there are.
package arena
