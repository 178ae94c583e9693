package transcode_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/transcode"
)

// stricter are the cases of the corpus that a codec reads and a converter
// refuses, since JSON could not say the same.
var stricter = map[string]string{
	"named/a union of none, unchecked":                         "invalid-union at 3 in choice",
	"scalars/text that is not UTF-8 passes as it stands":       "invalid-data at 3 in text",
	"structs/of a field that stands twice the last one counts": "duplicate-key at 14",
}

// laxer is the case that a codec refuses and a converter reads, as {}.
const laxer = "named/a union of one that is unknown"

// TestFaultsOfThriftStandWhereTheCorpusSays runs the corpus on the converter:
// it reads what a codec reads, and its faults have the same code and offset.
// Paths are those of the JSON, whose keys of maps are strings.
func TestFaultsOfThriftStandWhereTheCorpusSays(t *testing.T) {
	for _, c := range conform.Corpus(t, "../internal/conform/testdata") {
		if c.Name == laxer || c.Rules.CheckSets || c.Rules.MaxContainer > 0 {
			continue // which the converter always, and never, does
		}
		opts := []transcode.Option{transcode.AllowDuplicates(), transcode.NonFinite(transcode.NonFiniteStrings)}
		if c.Rules.Strict {
			opts = append(opts, transcode.StrictTypes())
		}
		if c.Rules.MaxDepth > 0 {
			opts = append(opts, transcode.MaxDepth(c.Rules.MaxDepth))
		}
		conv, err := transcode.New(c.Type.Struct(), opts...)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, b := range c.Bytes {
			if b.Protocol != conform.Binary {
				continue
			}
			out, n, err := conv.AppendJSON(nil, b.Data)
			got := conform.FaultOf(err)
			switch want := b.Fault; {
			case stricter[c.Name] != "":
				if got == nil || got.String() != stricter[c.Name] {
					t.Errorf("%s: %v, want %s", c.Name, err, stricter[c.Name])
				}
			case want == nil:
				if err != nil || n != len(b.Data) {
					t.Errorf("%s: read %d of %d bytes: %v", c.Name, n, len(b.Data), err)
				}
			case got == nil || got.Code != want.Code || got.Offset != want.Offset || n != 0 || len(out) != 0:
				t.Errorf("%s: %v, want %v", c.Name, err, want)
			case !strings.Contains(want.Path, "[") && got.Path != want.Path:
				t.Errorf("%s: in %s, want %s", c.Name, got.Path, want.Path)
			}
		}
	}
}
