package transcode_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/transcode"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

// This file compares with Google's library, on random types and messages.

// randomProtobuf draws a message with its type.
func randomProtobuf(t *rapid.T) (protoreflect.MessageDescriptor, *dynamicpb.Message) {
	md := randomFile(t).Messages().Get(0)
	m := dynamicpb.NewMessage(md)
	randomValue(t, m, 3)
	return md, m
}

// read parses a message as Google does.
func read(t rapid.TB, md protoreflect.MessageDescriptor, b []byte) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("Google cannot read %x: %v", b, err)
	}
	return m
}

func readJSON(t rapid.TB, md protoreflect.MessageDescriptor, text []byte) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(md)
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Fatalf("Google cannot read %s: %v", text, err)
	}
	return m
}

func sameMessage(t rapid.TB, what string, got, want *dynamicpb.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestProtobufConvertsAsGooglesLibraryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md, m := randomProtobuf(t)
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := transcode.NewProtobuf(describe(md), transcode.RejectUnknown(), transcode.StrictTypes())
		if err != nil {
			t.Fatal(err)
		}
		ours, err := c.AppendJSON([]byte("kept"), wire)
		if err != nil {
			t.Fatalf("%x, in Google's JSON %s: %v", wire, text, err)
		}
		sameMessage(t, string(ours), readJSON(t, md, ours[4:]), m)
		back, err := c.AppendProtobuf([]byte("kept"), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		sameMessage(t, string(text), read(t, md, back[4:]), m)
	})
}
