// Package shapes is the output of `thrum gen --static` for idl/codec.thrift. It
// must not be edited.
package shapes
