package flatrpc_test

import "github.com/thrum-rpc/thrum/flatbuf"

// Word is what a generator writes for: table Word { text: string (required); count: int = 1; }
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

// words is what a generator writes for the schema of Word.
var words = flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Word", Fields: []flatbuf.FieldLayout{
	{Name: "text", Slot: 0, Kind: flatbuf.StringField, Required: true},
	{Name: "count", Slot: 1, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
}}}}

// wordVerifier verifies messages whose root is a Word.
func wordVerifier() *flatbuf.Verifier {
	v, err := flatbuf.NewVerifier(&words, 0)
	if err != nil {
		panic(err)
	}
	return v
}

// word makes a message in b, which may be nil.
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
