// Package flat has the messages of the suite flatbuffers, written by internal/flatsuite/generate: of
// each shape what package gen makes of its schema, and in a file _use.go what uses that, builds and
// reads it with Google's runtime and is its message of Protobuf. This file has what
// they share: the six fields that each begins with, and the entries of maps.
package flat

import (
	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/flatbuf"
)

// PlainEntry is Entry for the codec of plain structs.
type PlainEntry struct {
	Key   string `flatbuf:"key"`
	Value int32  `flatbuf:"value"`
}

// googleParts are the offsets of the name, the text and the tags.
type googleParts [3]google.UOffsetT

// buildGoogleParts writes what the base refers to, without allocating.
func buildGoogleParts(b *google.Builder, name, text string, texts []string) (p googleParts) {
	p[0], p[1] = b.CreateString(name), b.CreateString(text)
	var room [16]google.UOffsetT
	tags := room[:0]
	for _, t := range texts {
		tags = append(tags, b.CreateString(t))
	}
	b.StartVector(4, len(tags), 4)
	for i := len(tags) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tags[i])
	}
	p[2] = b.EndVector(len(tags))
	return p
}

// packGoogleParts does so as flatc's object form does.
func packGoogleParts(b *google.Builder, name, text string, texts []string) (p googleParts) {
	p[0], p[1] = b.CreateString(name), b.CreateString(text)
	tags := make([]google.UOffsetT, len(texts))
	for i := range tags {
		tags[i] = b.CreateString(texts[i])
	}
	b.StartVector(4, len(tags), 4)
	for i := len(tags) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tags[i])
	}
	p[2] = b.EndVector(len(tags))
	return p
}

func addGoogle(b *google.Builder, p googleParts, id, created int64, active bool) {
	b.PrependInt64Slot(0, id, 0)
	b.PrependInt64Slot(1, created, 0)
	b.PrependUOffsetTSlot(2, p[0], 0)
	b.PrependUOffsetTSlot(3, p[1], 0)
	b.PrependUOffsetTSlot(4, p[2], 0)
	b.PrependBoolSlot(5, active, false)
}

func buildEntryGoogle(b *google.Builder, e *EntryT) google.UOffsetT {
	key := b.CreateString(e.Key)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, key, 0)
	b.PrependInt32Slot(1, e.Value, 0)
	return b.EndObject()
}

func buildEntriesGoogle(b *google.Builder, entries []*EntryT) google.UOffsetT {
	var room [4]google.UOffsetT
	offsets := room[:0]
	for _, e := range entries {
		offsets = append(offsets, buildEntryGoogle(b, e))
	}
	b.StartVector(4, len(offsets), 4)
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	return b.EndVector(len(offsets))
}

func packEntriesGoogle(b *google.Builder, entries []*EntryT) google.UOffsetT {
	offsets := make([]google.UOffsetT, len(entries))
	for i, e := range entries {
		offsets[i] = buildEntryGoogle(b, e)
	}
	b.StartVector(4, len(offsets), 4)
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	return b.EndVector(len(offsets))
}

// buildEntries writes the entries of a map by their typed builder.
func buildEntries(b *flatbuf.Builder, entries []*EntryT) flatbuf.Ref[[]Entry] {
	var room [4]flatbuf.Ref[Entry]
	refs := room[:0]
	for _, e := range entries {
		refs = append(refs, NewEntryBuilder(b, flatbuf.String(b, e.Key)).Value(e.Value).End())
	}
	return flatbuf.Tables(b, refs...)
}

// googleInt32 is what the accessor of an int32 does in flatc's code.
func googleInt32(t *google.Table, slot google.VOffsetT) int32 {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		return t.GetInt32(o + t.Pos)
	}
	return 0
}

func googleInt64(t *google.Table, slot google.VOffsetT) int64 {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		return t.GetInt64(o + t.Pos)
	}
	return 0
}

func googleBytes(t *google.Table, slot google.VOffsetT) []byte {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		return t.ByteVector(o + t.Pos)
	}
	return nil
}

// sumText makes a number of a text that was read.
func sumText(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	return uint64(len(b)) + uint64(b[0])<<8 + uint64(b[len(b)-1])<<16
}

func readBaseGoogle(t *google.Table, some bool) uint64 {
	sum := uint64(googleInt64(t, 4))
	if some {
		return sum
	}
	sum += uint64(googleInt64(t, 6)) + sumText(googleBytes(t, 8)) + sumText(googleBytes(t, 10))
	for i := range googleLength(t, 12) {
		sum += sumText(googleText(t, 12, i))
	}
	if o := google.UOffsetT(t.Offset(14)); o != 0 && t.GetBool(o+t.Pos) {
		sum++
	}
	return sum
}

// googleLength, googleText and googleEntry are the accessors of a vector and of its elements.
func googleLength(t *google.Table, slot google.VOffsetT) int {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		return t.VectorLen(o)
	}
	return 0
}

func googleText(t *google.Table, slot google.VOffsetT, j int) []byte {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		return t.ByteVector(t.Vector(o) + google.UOffsetT(j*4))
	}
	return nil
}

func googleEntry(t *google.Table, slot google.VOffsetT, e *google.Table, j int) bool {
	if o := google.UOffsetT(t.Offset(slot)); o != 0 {
		x := t.Vector(o) + google.UOffsetT(j)*4
		e.Bytes, e.Pos = t.Bytes, t.Indirect(x)
		return true
	}
	return false
}

func googleEntries(t *google.Table, slot google.VOffsetT) (sum uint64) {
	for i := range googleLength(t, slot) {
		var e google.Table
		googleEntry(t, slot, &e, i)
		sum += sumText(googleBytes(&e, 4)) + uint64(googleInt32(&e, 6))
	}
	return sum
}

func unpackBaseGoogle(t *google.Table) (id, created int64, name, text string, tags []string, active bool) {
	tags = make([]string, googleLength(t, 12))
	for i := range tags {
		tags[i] = string(googleText(t, 12, i))
	}
	if off := google.UOffsetT(t.Offset(14)); off != 0 {
		active = t.GetBool(off + t.Pos)
	}
	return googleInt64(t, 4), googleInt64(t, 6), string(googleBytes(t, 8)), string(googleBytes(t, 10)), tags, active
}

func unpackEntriesGoogle(t *google.Table, slot google.VOffsetT) []*EntryT {
	entries := make([]*EntryT, googleLength(t, slot))
	for i := range entries {
		var e google.Table
		googleEntry(t, slot, &e, i)
		entries[i] = &EntryT{Key: string(googleBytes(&e, 4)), Value: googleInt32(&e, 6)}
	}
	return entries
}
