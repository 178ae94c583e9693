package flatbuf

import (
	"bytes"
	"errors"
	"fmt"
)

// This file holds the codec that Google's runtime has for grpc-go.

// What FlatbuffersCodec.Unmarshal finds wrong.
var (
	ErrInsufficientData  = errors.New("flatbuf: too short for a message")
	ErrInvalidRootOffset = errors.New("flatbuf: the root lies outside the message")
)

// FlatbuffersCodec lets grpc-go's own clients and servers send Builders and receive tables, as
// Google's type of that name does: grpc.ForceCodec takes it. Nothing is verified; package
// flatrpc, which needs no codec, does that. It is safe for concurrent use.
type FlatbuffersCodec struct{}

// Marshal returns the message of v, a *Builder that has finished it. It is a
// copy, since grpc-go sends it later, when the Builder may be making another.
func (FlatbuffersCodec) Marshal(v interface{}) ([]byte, error) {
	b, ok := v.(*Builder)
	if !ok || b == nil {
		return nil, fmt.Errorf("flatbuf: a %T is no message to send", v)
	}
	return bytes.Clone(b.FinishedBytes()), nil
}

// Unmarshal makes v, a table of generated code, the root of the message data, which it
// aliases from then on.
func (FlatbuffersCodec) Unmarshal(data []byte, v interface{}) error {
	t, ok := v.(interface{ Init([]byte, UOffsetT) })
	if !ok {
		return fmt.Errorf("flatbuf: a %T is no message to receive", v)
	}
	if len(data) < SizeUOffsetT {
		return ErrInsufficientData
	}
	root := GetUOffsetT(data)
	if root > UOffsetT(len(data)-SizeUOffsetT) {
		return ErrInvalidRootOffset
	}
	t.Init(data, root)
	return nil
}

// Name returns the content subtype of messages in gRPC.
func (FlatbuffersCodec) Name() string { return "flatbuffers" }

// String is Name, for older versions of grpc-go.
func (c FlatbuffersCodec) String() string { return c.Name() }
