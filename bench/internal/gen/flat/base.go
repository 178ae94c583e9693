// Package flat has the messages of the suite flatbuffers. The files of the
// shapes are written by internal/flatsuite/generate; this one has what they
// share: the six fields that each begins with, and the entries of maps.
package flat

import (
	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/flatbuf"
)

// Base is the first six fields of every shape.
type Base struct {
	ID      int64    `flatbuf:"ID,id=0"`
	Created int64    `flatbuf:"Created,id=1"`
	Name    string   `flatbuf:"Name,id=2"`
	Text    string   `flatbuf:"Text,id=3"`
	Tags    []string `flatbuf:"Tags,id=4"`
	Active  bool     `flatbuf:"Active,id=5"`
}

// Entry is an entry of a map.
type Entry struct {
	Key   string `flatbuf:"Key,id=0"`
	Value int32  `flatbuf:"Value,id=1"`
}

// googleParts and oursParts are the offsets of Name, Text and Tags.
type (
	googleParts [3]google.UOffsetT
	oursParts   [3]flatbuf.UOffsetT
)

// BuildGoogleParts writes what the base refers to, without allocating.
func (o *Base) BuildGoogleParts(b *google.Builder) (p googleParts) {
	p[0], p[1] = b.CreateString(o.Name), b.CreateString(o.Text)
	var room [16]google.UOffsetT
	tags := room[:0]
	for _, t := range o.Tags {
		tags = append(tags, b.CreateString(t))
	}
	b.StartVector(4, len(tags), 4)
	for i := len(tags) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tags[i])
	}
	p[2] = b.EndVector(len(tags))
	return p
}

// PackGoogleParts does so as flatc's object form does.
func (o *Base) PackGoogleParts(b *google.Builder) (p googleParts) {
	p[0], p[1] = b.CreateString(o.Name), b.CreateString(o.Text)
	tags := make([]google.UOffsetT, len(o.Tags))
	for i := range tags {
		tags[i] = b.CreateString(o.Tags[i])
	}
	b.StartVector(4, len(tags), 4)
	for i := len(tags) - 1; i >= 0; i-- {
		b.PrependUOffsetT(tags[i])
	}
	p[2] = b.EndVector(len(tags))
	return p
}

func (o *Base) addGoogle(b *google.Builder, p googleParts) {
	b.PrependInt64Slot(0, o.ID, 0)
	b.PrependInt64Slot(1, o.Created, 0)
	b.PrependUOffsetTSlot(2, p[0], 0)
	b.PrependUOffsetTSlot(3, p[1], 0)
	b.PrependUOffsetTSlot(4, p[2], 0)
	b.PrependBoolSlot(5, o.Active, false)
}

func buildEntryGoogle(b *google.Builder, e *Entry) google.UOffsetT {
	key := b.CreateString(e.Key)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, key, 0)
	b.PrependInt32Slot(1, e.Value, 0)
	return b.EndObject()
}

func buildEntriesGoogle(b *google.Builder, entries []*Entry) google.UOffsetT {
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

func packEntriesGoogle(b *google.Builder, entries []*Entry) google.UOffsetT {
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

func (o *Base) buildOursParts(b *flatbuf.Builder) (p oursParts) {
	p[0], p[1] = b.CreateString(o.Name), b.CreateString(o.Text)
	var room [16]flatbuf.UOffsetT
	tags := room[:0]
	for _, t := range o.Tags {
		tags = append(tags, b.CreateString(t))
	}
	p[2] = b.CreateVectorOfTables(tags)
	return p
}

// putWide puts the fields of eight bytes, putParts the references, putNarrow
// the rest.
func (o *Base) putWide(t []byte, vt []uint16, at int) int {
	if o.ID != 0 {
		at = flatbuf.PutUint64(t, vt, 0, at, uint64(o.ID))
	}
	if o.Created != 0 {
		at = flatbuf.PutUint64(t, vt, 1, at, uint64(o.Created))
	}
	return at
}

func putParts(t []byte, vt []uint16, at int, p oursParts) int {
	for i, off := range p {
		at = flatbuf.PutUint32(t, vt, 2+i, at, uint32(off))
	}
	return at
}

func (o *Base) putNarrow(t []byte, vt []uint16, at int) int {
	if o.Active {
		at = flatbuf.PutBool(t, vt, 5, at, true)
	}
	return at
}

func buildEntriesOurs(b *flatbuf.Builder, entries []*Entry) flatbuf.UOffsetT {
	var room [4]flatbuf.UOffsetT
	offsets := room[:0]
	for _, e := range entries {
		key := b.CreateString(e.Key)
		t, vt := b.StartTable(2, 8, 4)
		at := flatbuf.PutUint32(t, vt, 0, 4, uint32(key))
		if e.Value != 0 {
			at = flatbuf.PutUint32(t, vt, 1, at, uint32(e.Value))
		}
		offsets = append(offsets, b.EndTable(t, vt, 4, at, 4, 8))
	}
	return b.CreateVectorOfTables(offsets)
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
	if o := google.UOffsetT(t.Offset(12)); o != 0 {
		for i := range t.VectorLen(o) {
			sum += sumText(t.ByteVector(t.Vector(o) + google.UOffsetT(i)*4))
		}
	}
	if o := google.UOffsetT(t.Offset(14)); o != 0 && t.GetBool(o+t.Pos) {
		sum++
	}
	return sum
}

func googleEntries(t *google.Table, slot google.VOffsetT) (sum uint64) {
	o := google.UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0
	}
	for i := range t.VectorLen(o) {
		x := t.Vector(o) + google.UOffsetT(i)*4
		e := google.Table{Bytes: t.Bytes, Pos: t.Indirect(x)}
		sum += sumText(googleBytes(&e, 4)) + uint64(googleInt32(&e, 6))
	}
	return sum
}

func oursBytes(t *flatbuf.Table, slot flatbuf.VOffsetT) []byte {
	if o := flatbuf.UOffsetT(t.Offset(slot)); o != 0 {
		return t.ByteVector(o + t.Pos)
	}
	return nil
}

func readBaseOurs(t *flatbuf.Table, some bool) uint64 {
	sum := uint64(t.GetInt64Slot(4, 0))
	if some {
		return sum
	}
	sum += uint64(t.GetInt64Slot(6, 0)) + sumText(oursBytes(t, 8)) + sumText(oursBytes(t, 10))
	if o := flatbuf.UOffsetT(t.Offset(12)); o != 0 {
		for i := range t.VectorLen(o) {
			sum += sumText(t.ByteVector(t.Vector(o) + flatbuf.UOffsetT(i)*4))
		}
	}
	if t.GetBoolSlot(14, false) {
		sum++
	}
	return sum
}

func oursEntries(t *flatbuf.Table, slot flatbuf.VOffsetT) (sum uint64) {
	o := flatbuf.UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0
	}
	for i := range t.VectorLen(o) {
		x := t.Vector(o) + flatbuf.UOffsetT(i)*4
		e := flatbuf.Table{Bytes: t.Bytes, Pos: t.Indirect(x)}
		sum += sumText(oursBytes(&e, 4)) + uint64(e.GetInt32Slot(6, 0))
	}
	return sum
}

func (o *Base) unpackGoogle(t *google.Table) {
	o.ID, o.Created = googleInt64(t, 4), googleInt64(t, 6)
	o.Name, o.Text = string(googleBytes(t, 8)), string(googleBytes(t, 10))
	if off := google.UOffsetT(t.Offset(12)); off != 0 {
		o.Tags = make([]string, t.VectorLen(off))
		for i := range o.Tags {
			o.Tags[i] = string(t.ByteVector(t.Vector(off) + google.UOffsetT(i)*4))
		}
	}
	if off := google.UOffsetT(t.Offset(14)); off != 0 {
		o.Active = t.GetBool(off + t.Pos)
	}
}

func unpackEntriesGoogle(t *google.Table, slot google.VOffsetT) []*Entry {
	o := google.UOffsetT(t.Offset(slot))
	if o == 0 {
		return nil
	}
	entries := make([]*Entry, t.VectorLen(o))
	for i := range entries {
		x := t.Vector(o) + google.UOffsetT(i)*4
		e := google.Table{Bytes: t.Bytes, Pos: t.Indirect(x)}
		entries[i] = &Entry{Key: string(googleBytes(&e, 4)), Value: googleInt32(&e, 6)}
	}
	return entries
}
