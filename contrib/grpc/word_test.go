package grpc

import google "github.com/google/flatbuffers/go"

// The table of package words as flatc's Go has it.

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
