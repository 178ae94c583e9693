package same

import (
	"bytes"
	"testing"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

type key struct{ N int32 }

type one struct {
	M map[*key]string
	L []int64
	B []byte
	P *bool
}

// other has the shape of one under another name.
type other struct {
	M map[*key]string
	L []int64
	B []byte
	P *bool
}

func TestValuesOfTheSameShapeAreTheSame(t *testing.T) {
	yes, no := true, false
	base := func() one {
		return one{M: map[*key]string{{1}: "a", {2}: "b"}, L: []int64{1}, B: []byte{2}, P: &yes}
	}
	want := value(t, base())
	if !bytes.Equal(want, value(t, other(base()))) {
		t.Error("the name of the type counts")
	}
	for name, change := range map[string]func(*one){
		"map key":       func(o *one) { o.M = map[*key]string{{1}: "a", {3}: "b"} },
		"map value":     func(o *one) { o.M = map[*key]string{{1}: "a", {2}: "c"} },
		"missing entry": func(o *one) { o.M = map[*key]string{{1}: "a"} },
		"list":          func(o *one) { o.L = []int64{1, 0} },
		"bytes":         func(o *one) { o.B = []byte{3} },
		"nil pointer":   func(o *one) { o.P = nil },
		"pointer":       func(o *one) { o.P = &no },
	} {
		o := base()
		if change(&o); bytes.Equal(want, value(t, o)) {
			t.Errorf("%s: a difference is not seen", name)
		}
	}
	if _, err := Value(struct{ C chan int }{}); err == nil {
		t.Error("a channel has a canonical form")
	}
}

func value(t *testing.T, v any) []byte {
	t.Helper()
	b, err := Value(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// message has a map and a list; order says which entry and field go first.
func message(swap bool, text string) []byte {
	entries := func(b []byte) []byte {
		b = thriftwire.AppendMap(thriftwire.AppendField(b, thriftwire.Map, 1), thriftwire.I32, thriftwire.String, 2)
		pair := func(k int32, s string) []byte {
			return thriftwire.AppendString(thriftwire.AppendI32(nil, k), s)
		}
		first, second := pair(1, "x"), pair(2, text)
		if swap {
			first, second = second, first
		}
		return append(append(b, first...), second...)
	}
	number := func(b []byte) []byte {
		b = thriftwire.AppendList(thriftwire.AppendField(b, thriftwire.List, 2), thriftwire.I8, 2)
		return append(b, 7, 8)
	}
	if swap {
		return thriftwire.AppendStop(entries(number(nil)))
	}
	return thriftwire.AppendStop(number(entries(nil)))
}

func TestMessagesDifferOnlyInOrder(t *testing.T) {
	a, err := Message(message(false, "y"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Message(message(true, "y"))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("order counts: %x %x %v", a, b, err)
	}
	c, err := Message(message(false, "z"))
	if err != nil || bytes.Equal(a, c) {
		t.Errorf("a difference is not seen (%v)", err)
	}
}

func TestBrokenMessagesAreErrors(t *testing.T) {
	b := message(false, "y")
	for n := range b {
		if _, err := Message(b[:n]); err == nil {
			t.Errorf("prefix of %d bytes: no error", n)
		}
	}
	if _, err := Message(append(b, 0)); err == nil {
		t.Error("a byte too many: no error")
	}
}
