//go:build go1.27

package jsonwire_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// FuzzSkipJSONText compares Skip with the strict reader of encoding/json/v2,
// which the standard library has since Go 1.27.
func FuzzSkipJSONText(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := jsonwire.Skip(b, 1000)
		if n == jsonwire.ErrDepth || jsonwire.SkipSpace(b) > 0 {
			return
		}
		whole := n >= 0 && jsonwire.SkipSpace(b[n:]) == len(b)-n
		if want := jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true)); whole != want {
			t.Fatalf("%q: n %d (%v), jsontext says %v", b, n, jsonwire.Error(n), want)
		}
	})
}
