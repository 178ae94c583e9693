// Package words is the table Word { text: string (required); count: int = 1; } as
// Thrum's generator has it, and handlers of streams of it: what the tests of FlatBuffers
// services share, against peers too. It is for tests alone.
package words

import (
	"context"
	"io"
	"strings"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
)

// Word is the accessor of a table Word.
type Word struct{ table flatbuf.Table }

// Init is called by package flatbuf.
func (w *Word) Init(buf []byte, i flatbuf.UOffsetT) { w.table.Bytes, w.table.Pos = buf, i }

// Table is called by package flatbuf.
func (w *Word) Table() flatbuf.Table { return w.table }

// Text returns the field text.
func (w *Word) Text() string {
	if o := w.table.Offset(4); o != 0 {
		return w.table.String(w.table.Pos + flatbuf.UOffsetT(o))
	}
	return ""
}

// Count returns the field count.
func (w *Word) Count() int32 { return w.table.GetInt32Slot(6, 1) }

// Verifier returns what verifies messages whose root is a Word.
func Verifier() *flatbuf.Verifier {
	v, err := flatbuf.NewVerifier(&flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Word", Fields: []flatbuf.FieldLayout{
		{Name: "text", Slot: 0, Kind: flatbuf.StringField, Required: true},
		{Name: "count", Slot: 1, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
	}}}}, 0)
	if err != nil {
		panic(err)
	}
	return v
}

// New makes a message in b, which may be nil.
func New(b *flatbuf.Builder, text string, count int32) *flatbuf.Builder {
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

// Join answers a client's stream with all its texts in one, and their number.
func Join(_ context.Context, in *flatrpc.Receiver[*Word]) (*flatbuf.Builder, error) {
	var text strings.Builder
	for n := int32(0); ; n++ {
		w, err := in.Recv()
		if err == io.EOF {
			return New(nil, text.String(), n), nil
		}
		if err != nil {
			return nil, err
		}
		text.WriteString(w.Text())
	}
}

// Echo answers each word of a stream with itself and an exclamation mark.
func Echo(_ context.Context, in *flatrpc.Receiver[*Word], out *flatrpc.Sender) error {
	for {
		w, err := in.Recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = out.Send(New(out.NewBuilder(), w.Text()+"!", w.Count()))
		}
		if err != nil {
			return err
		}
	}
}
