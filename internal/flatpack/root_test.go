package flatpack

import (
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
)

func TestAPackerIsUsedAgainUnlessItHoldsMuch(t *testing.T) {
	p := Packer{Builder: flatbuf.NewBuilder(0)}
	mark := p.Start()
	p.Offset(0, p.Builder.CreateString("small"), false)
	p.Builder.Finish(p.EndTable(mark))
	p.Start()
	p.Scalar(3, 1, 8) // of a table that is never ended
	if !p.Renew() || p.Builder.Offset() != 0 || len(p.fields)+len(p.set) != 0 {
		t.Errorf("%d bytes, %d fields", p.Builder.Offset(), len(p.fields))
	}
	p.Builder.CreateByteVector(make([]byte, 2*MaxKept))
	if p.Renew() {
		t.Errorf("%d bytes are kept", cap(p.Builder.Bytes))
	}
}
