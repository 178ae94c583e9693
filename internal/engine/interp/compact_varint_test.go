package interp

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

func TestVarintsAreThoseOfTheWirePackage(t *testing.T) {
	for shift := range 64 {
		for _, v := range []int64{1<<shift - 1, 1 << shift, 1<<shift + 1, -1 << shift, -1<<shift - 1} {
			want := compact.AppendI64(nil, v)
			buf := make([]byte, compactRoom)
			if n := putVarint64(mem.Data(buf), zigzag(v)); !bytes.Equal(buf[:n], want) || n != varintSize(zigzag(v)) {
				t.Errorf("%d is %x, not %x", v, buf[:n], want)
			}
			want = compact.AppendI32(nil, int32(v))
			if n := putVarint(mem.Data(buf), zigzag32(uint32(v))); !bytes.Equal(buf[:n], want) {
				t.Errorf("%d is %x, not %x", int32(v), buf[:n], want)
			}
		}
	}
}
