package fbsidl

import (
	"strings"
	"testing"
)

// overlapping returns a binary schema of n objects that are one, with n lines of
// documentation that are one.
func overlapping(n int) []byte {
	w := &tableWriter{vtables: make(map[string]int)}
	w.b = append(make([]byte, 4, 4096), binaryIdentifier...)
	once := func(write func() int) func(int) int {
		pos := 0
		return func(int) int {
			if pos == 0 {
				pos = write()
			}
			return pos
		}
	}
	line := once(func() int { return w.str("a line") })
	object := once(func() int {
		var f fields
		f.ref(objectName, func() int { return w.str("Object") })
		f.ref(objectDoc, func() int { return w.vector(n, line) })
		return w.table(f)
	})
	var f fields
	f.ref(schemaObjects, func() int { return w.vector(n, object) })
	w.link(0, w.table(f))
	return w.b
}

func TestPartsThatOverlapAreNotReadOverAndOver(t *testing.T) {
	_, err := readBinary(overlapping(20_000))
	if err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("error %v", err)
	}
}

func TestTextOfABinarySchemaIsBounded(t *testing.T) {
	w := &textWriter{binaryReader: &binaryReader{}, Builder: &strings.Builder{}}
	w.WriteString(strings.Repeat(" ", maxBinaryText+1))
	if !w.full() || w.err == nil {
		t.Error("no error")
	}
}
