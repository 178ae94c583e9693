package apache_test

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/internal/conform/apache"
)

// TestApacheFollowsTheCorpus checks the corpus itself: where a case says which
// bytes a value has, Apache's library writes them and reads the value back.
// What is an error, and where, is ours to say.
func TestApacheFollowsTheCorpus(t *testing.T) {
	checked := 0
	for _, c := range conform.Corpus(t, "../testdata") {
		for _, b := range c.Bytes {
			if !c.Writes || b.Protocol == conform.FBThrift {
				continue
			}
			text := conform.Format(c.Type, c.Value)
			got, err := apache.Encode(b.Protocol, c.Type, c.Value)
			if err != nil && bytes.Contains([]byte(c.Schema), []byte("float")) {
				continue // which Apache does not have
			}
			checked++
			if err != nil || !bytes.Equal(got, b.Data) {
				t.Errorf("%s: %s:\n   got %x, %v\ncorpus %x", c.Name, b.Protocol, got, err, b.Data)
			}
			v, n, err := apache.Decode(b.Protocol, c.Type, b.Data)
			if err != nil || n != len(b.Data) || conform.Format(c.Type, v) != text {
				t.Errorf("%s: %s: read %d bytes, %v", c.Name, b.Protocol, n, err)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d encodings were checked", checked)
	}
}
