// Package shapes is the output of Apache's compiler for idl/codec.thrift. It
// must not be edited.
package shapes
