package gostruct_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/gostruct"
	"pgregory.net/rapid"
)

func TestValuesComeBackFromGoStructs(t *testing.T) {
	for _, style := range []gostruct.Style{{}, {ByValue: true, WideEnums: true}} {
		found := 0
		rapid.Check(t, func(t *rapid.T) {
			typ := conform.Struct(t, conform.DefaultShape)
			g, err := style.Struct(typ.Struct())
			if errors.Is(err, gostruct.ErrNoType) {
				return
			}
			found++
			v := conform.Value(t, typ, 4)
			dst := reflect.New(g).Elem()
			gostruct.Set(dst, typ, v)
			got := conform.Format(typ, conform.Filled(typ, gostruct.Get(dst, typ)))
			if want := conform.Format(typ, conform.Filled(typ, v)); got != want {
				t.Fatalf("%s\n got %s\nwant %s", g, got, want)
			}
		})
		if found == 0 || found < 20 && !testing.Short() { // rapid tries less in short runs
			t.Fatalf("only %d schemas had Go types", found)
		}
	}
}
