package dynamicsuite

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cloudwego/dynamicgo/thrift"
	"github.com/cloudwego/dynamicgo/thrift/generic"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file compares what ours and dynamicgo do with random messages, along
// every path and over dynamicgo's options. Where its result is a defect, what
// is left out here says so.

// randomAny draws a Go value for a type.
func randomAny(r *rand.Rand, t *schema.Type, depth int) any {
	text := func() string { return text[:r.IntN(8)] }
	switch t.Kind() {
	case schema.I8:
		return int8(r.IntN(128)) // dynamicgo shows a negative one as a positive number
	case schema.I32:
		return int32(r.Uint64())
	case schema.I64:
		return int64(r.Uint64())
	case schema.Double:
		return r.NormFloat64()
	case schema.String, schema.Binary:
		return text()
	case schema.List:
		var out []any
		for range r.IntN(4) {
			out = append(out, randomAny(r, t.Elem(), depth-1))
		}
		return out
	case schema.Map:
		var out []dynamic.Entry
		seen := map[any]bool{}
		for range r.IntN(4) {
			key := randomAny(r, t.Key(), 0)
			if !seen[key] { // dynamicgo leads to another of two equal keys
				seen[key] = true
				out = append(out, dynamic.Entry{Key: key, Value: randomAny(r, t.Elem(), depth-1)})
			}
		}
		if out == nil {
			return map[string]any{}
		}
		return out
	default:
		out := map[string]any{}
		for _, f := range t.Struct().Fields() {
			if r.IntN(4) > 0 && (f.Type().Kind() != schema.Struct || depth > 0) {
				out[f.Name()] = randomAny(r, f.Type(), depth-1)
			}
		}
		return out
	}
}

// pairOfSteps is a step as both sides spell it.
type pairOfSteps struct {
	ours   dynamic.Step
	theirs generic.Path
}

// eachPath calls f with the path to every part of a value, the outer ones first.
func eachPath(v dynamic.Value, path []pairOfSteps, f func([]pairOfSteps, dynamic.Value)) {
	it := v.Iterate()
	for it.Next() {
		var s pairOfSteps
		switch {
		case v.WireType() == thriftwire.Struct:
			s = pairOfSteps{dynamic.Field(it.ID()), generic.NewPathFieldId(thrift.FieldID(it.ID()))}
		case v.WireType() != thriftwire.Map:
			s = pairOfSteps{dynamic.Index(it.Index()), generic.NewPathIndex(it.Index())}
		case it.Key().WireType() == thriftwire.String:
			k, _ := it.Key().Text()
			s = pairOfSteps{dynamic.Key(k), generic.NewPathStrKey(k)}
		default:
			k, _ := it.Key().Int()
			s = pairOfSteps{dynamic.IntKey(k), generic.NewPathIntKey(int(k))}
		}
		p := append(path[:len(path):len(path)], s)
		f(p, it.Value())
		eachPath(it.Value(), p, f)
	}
}

func split(path []pairOfSteps) (ours []dynamic.Step, theirs []generic.Path) {
	for _, s := range path {
		ours, theirs = append(ours, s.ours), append(theirs, s.theirs)
	}
	return ours, theirs
}

// agree compares two messages, in which the order of fields and entries may differ.
func agree(t *testing.T, what string, ours, theirs []byte, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	a, errA := same.Message(ours)
	b, errB := same.Message(theirs)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Fatalf("%s: ours is %x (%v), theirs %x (%v)", what, ours, errA, theirs, errB)
	}
}

func descriptors(t *testing.T, s *shape) (whole, part *thrift.TypeDescriptor) {
	t.Helper()
	d, err := thrift.NewDescritorFromContent(context.Background(), "dynamic.thrift", string(idl.Dynamic)+service, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if whole, err = argument(d, s.name); err != nil {
		t.Fatal(err)
	}
	if part, err = argument(d, s.name+"Part"); err != nil {
		t.Fatal(err)
	}
	return whole, part
}

// eachRandom calls f with random messages of every shape.
func eachRandom(t *testing.T, f func(t *testing.T, r *rand.Rand, s *shape, v dynamic.Value, whole, part *thrift.TypeDescriptor)) {
	all, err := shapes()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		whole, part := descriptors(t, s)
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%s/%d", s.name, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 7))
				b, err := dynamic.AppendAny(nil, s.whole, randomAny(r, s.whole, 4))
				if err != nil {
					t.Fatal(err)
				}
				f(t, r, s, dynamic.NewValue(s.whole, b), whole, part)
			})
		}
	}
}

func TestEveryPartIsReadAndChangedAsByDynamicgo(t *testing.T) {
	eachRandom(t, func(t *testing.T, r *rand.Rand, s *shape, v dynamic.Value, whole, _ *thrift.TypeDescriptor) {
		// dynamicgo writes to the message that it changes.
		theirs := func() generic.Value { return generic.NewValue(whole, bytes.Clone(v.Raw())) }
		count := 0
		eachPath(v, nil, func(path []pairOfSteps, part dynamic.Value) {
			if count++; count > 200 {
				return
			}
			our, their := split(path)
			what := fmt.Sprint(our)
			got, err := v.Get(our...)
			if err != nil || !bytes.Equal(got.Raw(), part.Raw()) {
				t.Fatalf("%s: %x, %v", what, got.Raw(), err)
			}
			peers := theirs().GetByPath(their...)
			if err := peers.Check(); err != nil || !bytes.Equal(peers.Raw(), got.Raw()) {
				t.Fatalf("%s: ours is %x, theirs %x, %v", what, got.Raw(), peers.Raw(), err)
			}
			// Another value of the type in its place.
			b, err := dynamic.AppendAny(nil, part.Type(), randomAny(r, part.Type(), 1))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := v.AppendSet(nil, dynamic.NewValue(part.Type(), b).Node, our...)
			peers = theirs()
			_, err2 := peers.SetByPath(generic.NewValue(peers.GetByPath(their...).Desc, b), their...)
			agree(t, "set "+what, changed, peers.Raw(), err, err2)
			// And without it.
			cut, err := v.AppendDelete(nil, our...)
			peers = theirs()
			err2 = peers.UnsetByPath(their...)
			agree(t, "delete "+what, cut, peers.Raw(), err, err2)
			// Back where it is absent: a field is added. dynamicgo adds what is absent
			// in a part to the outermost struct, so only its fields are compared.
			if path[len(path)-1].theirs.Type() != generic.PathIndex {
				again, err := dynamic.NewValue(s.whole, cut).AppendSet(nil, part.Node, our...)
				agree(t, "add again "+what, again, v.Raw(), err)
			}
			if len(path) == 1 {
				again, err := dynamic.NewValue(s.whole, cut).AppendSet(nil, part.Node, our...)
				peers := generic.NewValue(whole, bytes.Clone(cut))
				_, err2 := peers.SetByPath(generic.NewValue(theirs().GetByPath(their...).Desc, bytes.Clone(part.Raw())), their...)
				agree(t, "add "+what, again, peers.Raw(), err, err2)
			}
		})
	})
}

func TestWhatIsAbsentIsSoForDynamicgo(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *shape, v dynamic.Value, whole, _ *thrift.TypeDescriptor) {
		for _, f := range s.whole.Struct().Fields() {
			ours, err := v.Get(dynamic.Field(int16(f.ID())))
			if err != nil {
				t.Fatal(err)
			}
			theirs := generic.NewValue(whole, v.Raw()).GetByPath(generic.NewPathFieldId(thrift.FieldID(f.ID())))
			if ours.Exists() == theirs.IsErrNotFound() {
				t.Errorf("%s: ours %v, theirs %v", f.Name(), ours.Exists(), theirs.Check())
			}
		}
	})
}

func TestMessagesAreTrimmedAsByDynamicgo(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *shape, v dynamic.Value, whole, part *thrift.TypeDescriptor) {
		trimmer, err := dynamic.NewTrimmer(s.whole, s.part)
		if err != nil {
			t.Fatal(err)
		}
		ours, _, err := trimmer.Append(nil, v.Raw())
		for _, options := range []generic.Options{{}, {NotCheckRequireNess: true}, {DisallowUnknow: true}} {
			theirs, err2 := generic.NewValue(whole, v.Raw()).MarshalTo(part, &options)
			agree(t, fmt.Sprintf("%+v", options), ours, theirs, err, err2)
		}
	})
}

func TestTreesAreWrittenAsByDynamicgo(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, _ *shape, v dynamic.Value, whole, _ *thrift.TypeDescriptor) {
		var tree dynamic.Tree
		err := tree.Load(v)
		ours, err1 := tree.Append(nil)
		for _, options := range []generic.Options{{}, {NotScanParentNode: true}, {StoreChildrenById: true}, {StoreChildrenByHash: true}} {
			if options.NotScanParentNode && hasEmpty(v) {
				continue // it forgets empty structs and containers then
			}
			root := generic.PathNode{Node: generic.NewValue(whole, v.Raw()).Node}
			err2 := root.Load(true, &options)
			theirs, err3 := root.Marshal(&options)
			agree(t, fmt.Sprintf("%+v", options), ours, theirs, err, err1, err2, err3)
		}
	})
}

// hasEmpty says whether a value or a part of it is a struct or container without parts.
func hasEmpty(v dynamic.Value) bool {
	it := v.Iterate()
	for it.Next() {
		if hasEmpty(it.Value()) {
			return true
		}
	}
	return it.Index() < 0 && it.Err() == nil
}

// plain brings Go values of both sides to one form: dynamicgo has int for all
// integers, and its maps and structs are of more types than ours.
func plain(x any) any {
	v := reflect.ValueOf(x)
	switch {
	case !v.IsValid():
		return nil
	case v.CanInt():
		return v.Int()
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes())
	case v.Kind() == reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, plain(v.Index(i).Interface()))
		}
		return out
	case v.Kind() == reflect.Map:
		out := map[any]any{}
		for _, k := range v.MapKeys() {
			key := plain(k.Interface())
			if k.CanUint() {
				key = int64(k.Uint())
			}
			out[key] = plain(v.MapIndex(k).Interface())
		}
		return out
	default:
		return x
	}
}

func TestMessagesBecomeTheGoValuesOfDynamicgo(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, _ *shape, v dynamic.Value, whole, _ *thrift.TypeDescriptor) {
		ours, err := v.AnyByID()
		if err != nil {
			t.Fatal(err)
		}
		for _, options := range []generic.Options{{}, {MapStructById: true}, {CastStringAsBinary: true}, {MapStructById: true, CastStringAsBinary: true}} {
			theirs, err := generic.NewValue(whole, v.Raw()).Interface(&options)
			if err != nil || !reflect.DeepEqual(plain(ours), plain(theirs)) {
				t.Fatalf("ours is %v, theirs %v (%v), by id %v, binary %v", plain(ours), plain(theirs), err, options.MapStructById, options.CastStringAsBinary)
			}
		}
	})
}
