package mem

import (
	"reflect"
	"unsafe"
)

// Shape is how a map's key or element lies in memory, as far as Go's map code
// and collector tell values apart.
type Shape uint8

const (
	ShapeOther   Shape = iota // anything else; reflect handles it
	Shape8                    // bool, int8
	Shape16                   // int16
	Shape32                   // int32; float32 as an element
	Shape64                   // int64; float64 as an element
	ShapeFloat64              // float64 as a key, which hashes by value
	ShapeString
	ShapeSlice   // a slice, as an element
	ShapePointer // a pointer or map
	shapes
)

// Shapes is the number of shapes.
const Shapes = int(shapes)

// KeyShape returns the shape of a map's key type.
func KeyShape(t reflect.Type) Shape {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8:
		return Shape8
	case reflect.Int16:
		return Shape16
	case reflect.Int32:
		return Shape32
	case reflect.Int64:
		return Shape64
	case reflect.Float64:
		return ShapeFloat64
	case reflect.String:
		return ShapeString
	case reflect.Pointer:
		return ShapePointer
	default:
		return ShapeOther
	}
}

// ElemShape returns the shape of a map's element type.
func ElemShape(t reflect.Type) Shape {
	switch t.Kind() {
	case reflect.Float32:
		return Shape32
	case reflect.Float64:
		return Shape64
	case reflect.Slice:
		return ShapeSlice
	case reflect.Map:
		return ShapePointer
	default:
		return KeyShape(t)
	}
}

// Map views the map m, of any type of the right shape, as a map[K]V (invariant 7).
func Map[K comparable, V any](m Pointer) map[K]V { return *(*map[K]V)(unsafe.Pointer(&m)) }

// MapPointer is the reverse of Map.
func MapPointer[K comparable, V any](m map[K]V) Pointer {
	return *(*Pointer)(unsafe.Pointer(&m))
}

// MapLen returns the number of entries of the map m, which may be nil.
// The length does not depend on the types.
func MapLen(m Pointer) int { return len(*(*map[int64]int64)(unsafe.Pointer(&m))) }

// checked is the number of entries with which SameMap tries a view: more than
// one group of Go's map, so that it grows on the way.
const checked = 20

// SameMap tries on a map of type t whether the view map[K]V reads what reflect wrote and
// the reverse (invariant 7). The caller chose K and V by shape.
func SameMap[K comparable, V any](t reflect.Type) bool {
	if t.Key().Size() != unsafe.Sizeof(*new(K)) || t.Elem().Size() != unsafe.Sizeof(*new(V)) {
		return false
	}
	theirs := reflect.MakeMap(t)
	ours := make(map[K]V, checked)
	for i := range checked {
		k := sampleKey(t.Key(), i)
		theirs.SetMapIndex(k, reflect.Zero(t.Elem()))
		kp := reflect.New(t.Key())
		kp.Elem().Set(k)
		ours[*(*K)(kp.UnsafePointer())] = *new(V)
	}
	seen := Map[K, V](theirs.UnsafePointer())
	holder := reflect.New(t)
	SetPtr(holder.UnsafePointer(), MapPointer(ours))
	back := holder.Elem()
	if len(seen) != theirs.Len() || back.Len() != len(ours) {
		return false
	}
	for k := range seen {
		if _, ok := ours[k]; !ok {
			return false
		}
	}
	for it := theirs.MapRange(); it.Next(); {
		if !back.MapIndex(it.Key()).IsValid() {
			return false
		}
	}
	return true
}

// sampleKey returns the i-th test key of type t, as far as t has that many.
func sampleKey(t reflect.Type, i int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(i%2 == 0)
	case reflect.Float64:
		v.SetFloat(float64(i) - 7.5)
	case reflect.String:
		v.SetString("key of the map check"[:i])
	case reflect.Pointer:
		if i > 0 { // nil is a key too
			v.Set(reflect.New(t.Elem()))
		}
	default:
		v.SetInt(int64(i) - 7)
	}
	return v
}

// Viewable reports whether maps of type t may be viewed by the shapes of their
// key and element: whether SameMap holds for them.
func Viewable(t reflect.Type) bool {
	switch KeyShape(t.Key()) {
	case Shape8:
		return viewable[uint8](t)
	case Shape16:
		return viewable[uint16](t)
	case Shape32:
		return viewable[uint32](t)
	case Shape64:
		return viewable[uint64](t)
	case ShapeFloat64:
		return viewable[float64](t)
	case ShapeString:
		return viewable[string](t)
	case ShapePointer:
		return viewable[Pointer](t)
	default:
		return false
	}
}

func viewable[K comparable](t reflect.Type) bool {
	switch ElemShape(t.Elem()) {
	case Shape8:
		return SameMap[K, uint8](t)
	case Shape16:
		return SameMap[K, uint16](t)
	case Shape32:
		return SameMap[K, uint32](t)
	case Shape64:
		return SameMap[K, uint64](t)
	case ShapeString:
		return SameMap[K, string](t)
	case ShapeSlice:
		return SameMap[K, []byte](t)
	case ShapePointer:
		return SameMap[K, Pointer](t)
	default:
		return false
	}
}
