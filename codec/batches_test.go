package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file compares the engines where maps need no order: then code writes their entries from
// arrays, which it does not with Deterministic.

// crowd adds entries to the maps of a struct, so many that they are handed over in arrays.
func crowd(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				crowd(r, v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && depth > 0 {
			crowd(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			crowd(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		if v.IsNil() || depth <= 0 {
			return
		}
		for range r.Intn(150) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, k, 2)
			fill(r, e, r.Intn(3))
			v.SetMapIndex(k, e)
		}
	}
}

// unordered is a type on the interpreter, which says what is right, and in machine code that writes maps in any order.
type unordered struct {
	typ     reflect.Type
	ordered *compiled
	code    engine.Encoder
}

// inOrder returns what b decodes to, with its maps in order.
func (u *unordered) inOrder(b []byte) ([]byte, error) {
	back := reflect.New(u.typ).UnsafePointer()
	if n, err := u.ordered.decoder.Decode(b, back, nil); err != nil || n != len(b) {
		return nil, fmt.Errorf("%d of %d bytes: %w", n, len(b), err)
	}
	return u.ordered.encoder.Append(nil, back)
}

// agree compares all that the encoders do with the value at v.
func (u *unordered) agree(v mem.Pointer) error {
	want, wantErr := u.ordered.encoder.Append(nil, v)
	if wantErr != nil {
		if _, err := u.code.Append(nil, v); diag.CodeOf(err) != diag.CodeOf(wantErr) {
			return fmt.Errorf("the faults differ: %v, want %v", err, wantErr)
		}
		return nil
	}
	check := func(how string, b []byte, err error) error {
		var got []byte
		if err == nil {
			got, err = u.inOrder(b)
		}
		if err != nil || len(b) != len(want) || !bytes.Equal(got, want) {
			return fmt.Errorf("%s: another value of %d bytes, not %d, %w", how, len(b), len(want), err)
		}
		return nil
	}
	if n, err := u.code.Size(v); err != nil || n != len(want) {
		return fmt.Errorf("a size of %d, %v, want %d", n, err, len(want))
	}
	behind := bytes.Repeat([]byte{0xa5}, 64)
	for _, room := range []int{0, len(want) / 3, len(want) - 1, len(want), len(want) + 100} {
		guarded := append(make([]byte, room), behind...)
		b, err := u.code.Append(guarded[:0:room], v)
		if err := check(fmt.Sprint("room for ", room), b, err); err != nil {
			return err
		}
		if !bytes.Equal(guarded[room:], behind) {
			return errors.New("bytes behind the buffer were written")
		}
		if room >= len(want) && &b[0] != &guarded[0] {
			return errors.New("a buffer that has room was replaced")
		}
	}
	for _, threshold := range []int{1, 30} {
		b, cuts, err := u.code.Gather(nil, nil, v, threshold)
		var whole []byte
		at := 0
		for _, cut := range cuts {
			whole = append(append(whole, b[at:cut.Offset]...), cut.Data...)
			at = cut.Offset
		}
		if err := check(fmt.Sprint("gathered from ", threshold), append(whole, b[at:]...), err); err != nil {
			return err
		}
	}
	return nil
}

func enginesAgreeOnMaps(t testing.TB, seed int64) error {
	r := rand.New(rand.NewSource(seed))
	typ := randomStruct(r)
	opts := []Option{Use([]Protocol{Binary, Binary, Compact, CompactFBThrift}[r.Intn(4)])}
	if r.Intn(3) == 0 {
		opts = append(opts, MaxDepth(1+r.Intn(8)))
	}
	if _, err := compile(typ, newConfig(opts), shared.pool); err != nil {
		return nil // a type that the protocol lacks
	}
	code, err := compile(typ, newConfig(append(opts, Engine(JIT))), shared.pool)
	if err != nil {
		return err
	}
	u := unordered{typ, enginesOf(t, typ, opts...).interp, code.encoder}
	for range 3 {
		v := reflect.New(typ)
		fill(r, v.Elem(), 4)
		crowd(r, v.Elem(), 2)
		if err := u.agree(v.UnsafePointer()); err != nil {
			return err
		}
	}
	return nil
}

func TestEnginesEncodeRandomMapsTheSame(t *testing.T) {
	needsMachineCode(t)
	for seed := range int64(60) {
		if err := enginesAgreeOnMaps(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func FuzzEnginesEncodeMapsTheSame(f *testing.F) {
	needsMachineCode(f)
	for seed := range int64(10) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		if err := enginesAgreeOnMaps(t, seed); err != nil {
			t.Fatal(err)
		}
	})
}
