// Package chat is the output of the kitex tool for chat.thrift: structs with FastCodec, and methods that stream. It
// must not be edited.
package chat
