package grpc

import (
	google "github.com/google/flatbuffers/go"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// The table Word { text: string (required); count: int = 1; } as flatc's Go
// has it, and as Thrum's generator has.

// GoogleWord is a Word by Google's runtime.
type GoogleWord struct{ table google.Table }

func (w *GoogleWord) Init(buf []byte, i google.UOffsetT) { w.table.Bytes, w.table.Pos = buf, i }

func (w *GoogleWord) Text() string {
	if o := google.UOffsetT(w.table.Offset(4)); o != 0 {
		return string(w.table.ByteVector(o + w.table.Pos))
	}
	return ""
}

func (w *GoogleWord) Count() int32 {
	if o := google.UOffsetT(w.table.Offset(6)); o != 0 {
		return w.table.GetInt32(o + w.table.Pos)
	}
	return 1
}

func googleWord(text string, count int32) *google.Builder {
	b := google.NewBuilder(0)
	t := b.CreateString(text)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, t, 0)
	b.PrependInt32Slot(1, count, 1)
	b.Finish(b.EndObject())
	return b
}

// Word is a Word by Thrum's runtime.
type Word struct{ table flatbuf.Table }

func (w *Word) Init(buf []byte, i flatbuf.UOffsetT) { w.table.Bytes, w.table.Pos = buf, i }
func (w *Word) Table() flatbuf.Table                { return w.table }

func (w *Word) Text() string {
	if o := w.table.Offset(4); o != 0 {
		return w.table.String(w.table.Pos + flatbuf.UOffsetT(o))
	}
	return ""
}

func (w *Word) Count() int32 { return w.table.GetInt32Slot(6, 1) }

func word(b *flatbuf.Builder, text string, count int32) *flatbuf.Builder {
	if b == nil {
		b = new(flatbuf.Builder)
	}
	t := b.CreateString(text)
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, t, 0)
	b.PrependInt32Slot(1, count, 1)
	b.Finish(b.EndObject())
	return b
}

// verifier returns what verifies a Word.
func verifier() *flatbuf.Verifier {
	v, err := flatbuf.NewVerifier(&flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Word", Fields: []flatbuf.FieldLayout{
		{Name: "text", Slot: 0, Kind: flatbuf.StringField, Required: true},
		{Name: "count", Slot: 1, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
	}}}}, 0)
	if err != nil {
		panic(err)
	}
	return v
}
