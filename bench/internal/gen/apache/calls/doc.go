// Package calls is the output of Apache's compiler for idl/rpc.thrift. It must
// not be edited.
package calls
