package codec

import (
	"reflect"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file makes binding slots through reflect's public functions.

// newSlot allocates values of t, alone or as arrays.
func newSlot(t reflect.Type) engine.Slot {
	s := sliceSlot(reflect.SliceOf(t))
	s.New = func() mem.Pointer { return reflect.New(t).UnsafePointer() }
	return s
}

// sliceSlot makes slices of type t. Growing a slice in place, through its
// address, costs one allocation, where reflect.MakeSlice would cost two.
func sliceSlot(t reflect.Type) engine.Slot {
	extend := func(p mem.Pointer, n int) {
		s := reflect.NewAt(t, p).Elem()
		s.Grow(n - s.Len())
		s.SetLen(n)
	}
	return engine.Slot{
		Size: t.Elem().Size(),
		Slice: func(p mem.Pointer, n int) {
			mem.SetBytes(p, nil)
			extend(p, n)
		},
		Extend: extend,
		Clear:  func(p mem.Pointer) { reflect.NewAt(t, p).Elem().Clear() },
	}
}

// initSlot sets the defaults of structs of type t.
func initSlot(t reflect.Type) engine.Slot {
	return engine.Slot{Size: t.Size(), Init: func(v mem.Pointer) {
		reflect.NewAt(t, v).Interface().(initializer).InitDefault()
	}}
}

// mapSlot makes and iterates maps of type t.
func mapSlot(t reflect.Type) engine.Slot {
	m := &engine.Map{Key: mem.KeyShape(t.Key()), Elem: mem.ElemShape(t.Elem()), Generic: genericMap{t}}
	if !mem.Viewable(t) {
		m.Key, m.Elem = mem.ShapeOther, mem.ShapeOther
	}
	return engine.Slot{Size: t.Key().Size() + t.Elem().Size(), Map: m}
}

// genericMap handles maps of any type.
type genericMap struct{ t reflect.Type }

func (g genericMap) Range(m mem.Pointer, yield func(k, v mem.Pointer) bool) {
	holder := reflect.New(g.t)
	mem.SetPtr(holder.UnsafePointer(), m)
	k, v := reflect.New(g.t.Key()), reflect.New(g.t.Elem())
	for it := holder.Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		if !yield(k.UnsafePointer(), v.UnsafePointer()) {
			return
		}
	}
}

func (g genericMap) Fill(p mem.Pointer, n int, next func(k, v mem.Pointer) bool) {
	m := reflect.MakeMapWithSize(g.t, n)
	k, v := reflect.New(g.t.Key()), reflect.New(g.t.Elem())
	for next(k.UnsafePointer(), v.UnsafePointer()) {
		m.SetMapIndex(k.Elem(), v.Elem())
		// What the entry held must not reach the next one.
		k.Elem().SetZero()
		v.Elem().SetZero()
	}
	mem.SetPtr(p, m.UnsafePointer())
}
