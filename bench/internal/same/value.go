package same

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Value is the canonical form of a decoded struct or any part of it: equal for
// values that hold the same, whatever the names of their types. Fields are
// taken in their order, exported or not; pointers are followed; a nil pointer
// differs from a pointer to zero; a nil slice or map equals an empty one. The
// value must not contain itself.
func Value(v any) ([]byte, error) { return appendValue(nil, reflect.ValueOf(v)) }

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 'b', 1), nil
		}
		return append(b, 'b', 0), nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v.Int())), nil
	case reflect.Uint8:
		return append(b, byte(v.Uint())), nil
	case reflect.Float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v.Float())), nil
	case reflect.String:
		return append(appendLen(b, 's', v.Len()), v.String()...), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 'n'), nil
		}
		return appendValue(append(b, 'p'), v.Elem())
	case reflect.Slice:
		return appendEach(appendLen(b, 'l', v.Len()), v.Len(), v.Index)
	case reflect.Struct:
		return appendEach(appendLen(b, 't', v.NumField()), v.NumField(), v.Field)
	case reflect.Map:
		return appendMap(b, v)
	}
	return nil, fmt.Errorf("no canonical form for %s", v.Type())
}

func appendLen(b []byte, kind byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), uint32(n))
}

func appendEach(b []byte, n int, at func(int) reflect.Value) ([]byte, error) {
	var err error
	for i := range n {
		if b, err = appendValue(b, at(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendMap(b []byte, m reflect.Value) ([]byte, error) {
	var entries []string
	for it := m.MapRange(); it.Next(); {
		e, err := appendValue(nil, it.Key())
		if err != nil {
			return nil, err
		}
		if e, err = appendValue(e, it.Value()); err != nil {
			return nil, err
		}
		entries = append(entries, string(e))
	}
	slices.Sort(entries)
	b = appendLen(b, 'm', len(entries))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b, nil
}
