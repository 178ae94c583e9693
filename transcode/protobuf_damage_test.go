package transcode_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/protowire"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

// This file converts bytes that need not be valid, from and to Protobuf.

// protoSubject is a message type with its converter and a message of it.
type protoSubject struct {
	md   protoreflect.MessageDescriptor
	c    *transcode.ProtobufConverter
	wire []byte
	json []byte
}

// protoSubjects returns n random types, always the same.
func protoSubjects(t testing.TB, n int) (list []protoSubject) {
	sample := rapid.Custom(func(rt *rapid.T) protoSubject {
		md, m := randomProtobuf(rt)
		s := protoSubject{md: md, c: protobufConverter(t, describe(md))}
		var err error
		if s.wire, err = (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil {
			rt.Fatal(err)
		}
		if s.json, err = s.c.AppendJSON(nil, s.wire); err != nil {
			rt.Fatal(err)
		}
		return s
	})
	for i := range n {
		list = append(list, sample.Example(i))
	}
	return list
}

// fromProtobuf checks what becomes of any bytes: an error, or JSON that means
// the same to Google's library.
func (s protoSubject) fromProtobuf(t *testing.T, wire []byte) {
	text, err := s.c.AppendJSON(nil, wire)
	if err != nil {
		checkOffset(t, err, wire)
	} else if !json.Valid(text) {
		t.Fatalf("%x became %s", wire, text)
	}
	m := dynamicpb.NewMessage(s.md)
	theirs, crashed := googleReads(wire, m)
	if crashed {
		return
	}
	var want []byte
	if theirs == nil {
		want, theirs = protojson.Marshal(m)
	}
	switch code := diag.CodeOf(err); {
	case err == nil && theirs == nil:
		if closed(s.md) {
			break // Google's library for Go takes closed enums for open ones
		}
		sameMessage(t, string(text), readJSON(t, s.md, text), readJSON(t, s.md, want))
	case err == nil && strings.Contains(theirs.Error(), "UTF-8"):
		// Text that another one replaces is not looked at.
	case err == nil:
		t.Fatalf("%x became %s, Google says %v", wire, text, theirs)
	case theirs == nil && code != diag.InvalidData && code != diag.DepthLimit:
		t.Fatalf("%x: %v, which Google reads", wire, err)
	}
}

// googleReads calls Google's library, which panics at some broken map entries.
func googleReads(wire []byte, m proto.Message) (err error, crashed bool) {
	defer func() { crashed = recover() != nil }()
	return proto.Unmarshal(wire, m), false
}

// closed reports whether md has enums of proto2.
func closed(md protoreflect.MessageDescriptor) bool {
	return md.ParentFile().Syntax() == protoreflect.Proto2
}

// fromText checks what becomes of any bytes as JSON: an error, or a message
// that means the same to Google's library.
func (s protoSubject) fromText(t *testing.T, text []byte) {
	wire, err := s.c.AppendProtobuf(nil, text)
	m := dynamicpb.NewMessage(s.md)
	theirs := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
	switch {
	case err != nil:
		checkOffset(t, err, text)
		if theirs == nil && !stricterThanGoogle(err) {
			t.Fatalf("%s: %v, which Google reads", text, err)
		}
	case theirs == nil:
		sameMessage(t, string(text), read(t, s.md, wire), m)
	default:
		read(t, s.md, wire)
	}
}

// stricterThanGoogle reports whether the error is for something that Google's
// library lets pass: single digits and commas in times, a sign or missing
// digits in durations, line ends in base64, brackets and commas after a number
// in a string, numbers that a closed enum lacks, and depth.
func stricterThanGoogle(err error) bool {
	switch diag.CodeOf(err) {
	case diag.DepthLimit, diag.UnknownEnum:
		return true
	case diag.Syntax:
		return strings.Contains(err.Error(), "invalid number") // an exponent without digits
	case diag.InvalidData:
		return strings.Contains(err.Error(), "\" is no ") || strings.Contains(err.Error(), "base64")
	}
	return false
}

func TestDamagedProtobufGivesErrorsOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range protoSubjects(t, 15) {
		for i := range s.wire {
			s.fromProtobuf(t, s.wire[:i])
		}
		for range 100 {
			b := append([]byte(nil), s.wire...)
			for range r.IntN(3) + 1 {
				if len(b) > 0 {
					b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				}
			}
			s.fromProtobuf(t, b)
		}
	}
}

func TestDamagedJSONForProtobufGivesErrorsOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range protoSubjects(t, 12) {
		for i := range s.json {
			if _, err := s.c.AppendProtobuf(nil, s.json[:i]); diag.CodeOf(err) == 0 {
				t.Fatalf("%s is read", s.json[:i])
			}
		}
		for range 200 {
			b := append([]byte(nil), s.json...)
			b[r.IntN(len(b))] = `{}[]",:0123456789.-eEntf\/ x`[r.IntN(28)]
			s.fromText(t, b)
		}
	}
}

// TestMessagesInPiecesTakeLinearTime nests messages that stand twice. A reader
// that tries again at each level needs 2^60 steps.
func TestMessagesInPiecesTakeLinearTime(t *testing.T) {
	c := protobufConverter(t, message())
	body := []byte{}
	for range 60 {
		next := protowire.AppendBytes([]byte{2<<3 | 2, 0, 2<<3 | 2}, body) // next twice, empty first
		body = next
	}
	wire := protowire.AppendBytes(protowire.AppendTag(nil, 16, protowire.Bytes), body)
	done := make(chan error, 1)
	go func() { _, err := c.AppendJSON(nil, wire); done <- err }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestDepthAndSizeOfProtobufAreLimited(t *testing.T) {
	deep := strings.Repeat(`{"next":`, 70) + `{}` + strings.Repeat(`}`, 70)
	c := protobufConverter(t, message(), transcode.MaxDepth(80))
	wire, err := c.AppendProtobuf(nil, []byte(`{"node":`+deep+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := c.AppendJSON(nil, wire); err != nil || string(back) != `{"node":`+deep+`}` {
		t.Errorf("%s, %v", back, err)
	}
	c = protobufConverter(t, message())
	if _, err := c.AppendProtobuf(nil, []byte(`{"node":`+deep+`}`)); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	if _, err := c.AppendJSON(nil, wire); diag.CodeOf(err) != diag.DepthLimit {
		t.Error(err)
	}
	small := protobufConverter(t, message(), transcode.MaxSize(50))
	for _, err := range []error{
		second(small.AppendProtobuf(nil, []byte(`{"text":"`+strings.Repeat("x", 50)+`"}`))),
		second(small.AppendJSON(nil, append([]byte{0x42, 49}, strings.Repeat("x", 49)...))),
		second(small.AppendProtobuf(nil, []byte(`{"points":[{},{},{},{},{},{},{},{},{},{}],"far":22}`))),
		second(small.AppendJSON(nil, []byte(strings.Repeat("\x62\x04\x01\x01\x01\x01", 8)))),
	} {
		if diag.CodeOf(err) != diag.SizeLimit {
			t.Error(err)
		}
	}
}

func second(_ []byte, err error) error { return err }

func TestConvertingProtobufDoesNotAllocate(t *testing.T) {
	for _, s := range protoSubjects(t, 10) {
		wire, text := make([]byte, 0, 1<<16), make([]byte, 0, 1<<16)
		if n := allocations(func() {
			_, err1 := s.c.AppendJSON(text, s.wire)
			_, err2 := s.c.AppendProtobuf(wire, s.json)
			if err := errors.Join(err1, err2); err != nil {
				t.Error(err)
			}
		}); n > 0 {
			t.Errorf("%v allocations for %s", n, s.json)
		}
	}
}

func FuzzProtobufToJSON(f *testing.F) {
	subjects := protoSubjects(f, 6)
	for i, s := range subjects {
		f.Add(byte(i), s.wire)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		subjects[int(which)%len(subjects)].fromProtobuf(t, b)
	})
}

func FuzzJSONToProtobuf(f *testing.F) {
	subjects := protoSubjects(f, 6)
	for i, s := range subjects {
		f.Add(byte(i), s.json)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		subjects[int(which)%len(subjects)].fromText(t, b)
	})
}

// TestMessagesInPiecesTakeLittleMemory gives fields of two bytes, all the same.
func TestMessagesInPiecesTakeLittleMemory(t *testing.T) {
	c := protobufConverter(t, message())
	for what, wire := range map[string][]byte{
		"a number again and again": []byte(strings.Repeat("\x10\x01", 1<<16)),
		"an entry again and again": []byte(strings.Repeat("\x92\x01\x03\x0a\x01a", 1<<14)),
	} {
		dst := make([]byte, 0, 1<<10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := c.AppendJSON(dst, wire)
		runtime.ReadMemStats(&after)
		if err != nil || len(out) > 40 {
			t.Errorf("%s: %s, %v", what, out, err)
		}
		// All that was ever allocated, as slices grew.
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(48*len(wire)); got > limit {
			t.Errorf("%s: %d bytes for %d", what, got, len(wire))
		}
	}
}
