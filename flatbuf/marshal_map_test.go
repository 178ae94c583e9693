package flatbuf_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/guard"
	"github.com/thrum-rpc/thrum/schema"
)

type (
	level int16
	// chart has maps of all kinds of keys and values, through typed views and reflect.
	chart struct {
		Counts  map[string]int32            `flatbuf:"counts"`
		Names   map[int64]string            `flatbuf:"names"`
		Charts  map[string]*chart           `flatbuf:"charts"`
		Rows    map[uint16]row              `flatbuf:"rows"`
		Lists   map[int32][]string          `flatbuf:"lists"`
		Blobs   map[string][]byte           `flatbuf:"blobs"`
		Places  map[level]Vec               `flatbuf:"places,struct"`
		Flags   map[bool]bool               `flatbuf:"flags"`
		Deep    map[string]map[int8]float32 `flatbuf:"deep"`
		Weights map[uint64]float64          `flatbuf:"weights,key=3,value=1"`
		Always  map[string]uint32           `flatbuf:"always,required"`
	}
	row struct {
		Name  string           `flatbuf:"name"`
		Sizes map[string]uint8 `flatbuf:"sizes"`
	}
)

func randomChart(r *rand.Rand, depth int) *chart {
	c := &chart{Always: mapOf(r, text, r.Uint32)}
	part := func() bool { return r.IntN(3) > 0 }
	if part() {
		c.Counts = mapOf(r, text, r.Int32)
	}
	if part() {
		c.Names = mapOf(r, func(r *rand.Rand) int64 { return r.Int64() - 1<<62 }, func() string { return text(r) })
	}
	if part() && depth > 0 {
		c.Charts = mapOf(r, text, func() *chart {
			if part() {
				return randomChart(r, depth-1)
			}
			return nil
		})
	}
	if part() {
		c.Rows = mapOf(r, func(r *rand.Rand) uint16 { return uint16(r.Uint32()) }, func() row {
			return row{text(r), mapOf(r, text, func() uint8 { return uint8(r.Uint32()) })}
		})
	}
	if part() {
		c.Lists = mapOf(r, (*rand.Rand).Int32, func() []string { return [][]string{nil, {}, {text(r), ""}}[r.IntN(3)] })
		c.Blobs = mapOf(r, text, func() []byte { return [][]byte{nil, {}, []byte(text(r) + "x")}[r.IntN(3)] })
	}
	if part() {
		c.Places = mapOf(r, func(r *rand.Rand) level { return level(r.Uint32()) }, func() Vec { return Vec{r.Float64(), 1, r.Int32()} })
		c.Flags = mapOf(r, func(r *rand.Rand) bool { return r.IntN(2) == 0 }, func() bool { return r.IntN(2) == 0 })
	}
	if part() {
		c.Deep = mapOf(r, text, func() map[int8]float32 {
			return mapOf(r, func(r *rand.Rand) int8 { return int8(r.Uint32()) }, r.Float32)
		})
		c.Weights = mapOf(r, (*rand.Rand).Uint64, r.Float64)
	}
	return c
}

func text(r *rand.Rand) string { return "a key of some length"[:r.IntN(20)] }

func mapOf[K comparable, V any](r *rand.Rand, key func(*rand.Rand) K, value func() V) map[K]V {
	m := map[K]V{}
	for range r.IntN(30) {
		m[key(r)] = value()
	}
	return m
}

func TestMapsBecomeMessagesAndReturn(t *testing.T) {
	c := codecOf[chart](t)
	r := rand.New(rand.NewPCG(40, 41))
	for range 300 {
		want := randomChart(r, 2)
		msg, err := c.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Marshal(want); err != nil || !bytes.Equal(again, msg) {
			t.Fatalf("the same maps became other bytes: %v", err)
		}
		got := *randomChart(r, 1) // what it held before does not show
		if err := c.Unmarshal(msg, &got); err != nil || !reflect.DeepEqual(&got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, &got, want)
		}
	}
	var empty chart
	msg, err := c.Marshal(&empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(msg, &empty); err != nil || !reflect.DeepEqual(empty, chart{Always: map[string]uint32{}}) {
		t.Errorf("%v %+v", err, empty)
	}
}

// The vector is what a schema with (key) says: its verifier takes the message, and the
// search of generated code finds every key.
func TestMapsAreSortedVectorsOfKeyedTables(t *testing.T) {
	type scores struct {
		ByName map[string]int32 `flatbuf:"by_name,id=1"`
		ByID   map[int64]string `flatbuf:"by_id,id=0"`
	}
	entry := func(name string, key, value schema.Kind) *schema.StructDef {
		s := schema.NewStruct(schema.DeclSpec{Name: name}, schema.PlainStruct)
		required := schema.Default
		if key == schema.String {
			required = schema.Required
		}
		s.Complete([]*schema.Field{
			schema.NewField(schema.FieldSpec{ID: 0, Name: "key", Type: schema.Basic(key), Key: true, Requiredness: required}),
			schema.NewField(schema.FieldSpec{ID: 1, Name: "value", Type: schema.Basic(value)}),
		})
		return s
	}
	root := schema.NewStruct(schema.DeclSpec{Name: "Scores"}, schema.PlainStruct)
	root.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 0, Name: "by_id", Type: schema.ListOf(entry("ByID", schema.I64, schema.String).Type())}),
		schema.NewField(schema.FieldSpec{ID: 1, Name: "by_name", Type: schema.ListOf(entry("ByName", schema.String, schema.I32).Type())}),
	})
	layout, err := flatbuf.LayoutOf(root)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := flatbuf.NewVerifier(layout, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := scores{ByName: map[string]int32{}, ByID: map[int64]string{}}
	for i := range int32(1000) {
		v.ByName[fmt.Sprint("name ", i*7919%1000)] = i + 1
		v.ByID[int64(i-500)<<40] = fmt.Sprint(i)
	}
	msg, err := codecOf[scores](t).Marshal(&v)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(msg); err != nil {
		t.Fatal(err)
	}
	table := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
	at := func(slot flatbuf.VOffsetT) flatbuf.UOffsetT {
		return table.Vector(flatbuf.UOffsetT(table.Offset(slot)))
	}
	for name, score := range v.ByName {
		pos, ok := flatbuf.Search(msg, at(6), 0, func(pos flatbuf.UOffsetT) int {
			e := flatbuf.Table{Bytes: msg, Pos: pos}
			return cmp.Compare(string(e.ByteVector(flatbuf.UOffsetT(e.Offset(4))+pos)), name)
		})
		e := flatbuf.Table{Bytes: msg, Pos: pos}
		if !ok || e.GetInt32Slot(6, 0) != score {
			t.Fatalf("%q is not found", name)
		}
	}
	for id := range v.ByID {
		if _, ok := flatbuf.Search(msg, at(4), 0, func(pos flatbuf.UOffsetT) int {
			e := flatbuf.Table{Bytes: msg, Pos: pos}
			return cmp.Compare(e.GetInt64Slot(4, 0), id)
		}); !ok {
			t.Fatalf("%d is not found", id)
		}
	}
}

func TestKeysThatStandTwiceAreRefused(t *testing.T) {
	type counts struct {
		M map[string]int32 `flatbuf:"m"`
		N map[int8]bool    `flatbuf:"n"`
	}
	for _, slot := range []int{0, 1} {
		var b flatbuf.Builder
		key := b.CreateString("k")
		var rows []flatbuf.UOffsetT
		for range 2 {
			b.StartObject(2)
			if slot == 0 {
				b.PrependUOffsetTSlot(0, key, 0)
			} else {
				b.PrependInt8Slot(0, -3, 0)
			}
			rows = append(rows, b.EndObject())
		}
		vector := b.CreateVectorOfTables(rows)
		b.StartObject(2)
		b.PrependUOffsetTSlot(slot, vector, 0)
		b.Finish(b.EndObject())
		var v counts
		err := codecOf[counts](t).Unmarshal(b.FinishedBytes(), &v)
		want := []string{`m["k"]`, "n[-3]"}[slot]
		if f, ok := err.(*diag.Fault); !ok || f.Code != diag.DuplicateKey || f.Path() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestFaultsInMapsNameTheKey(t *testing.T) {
	type list struct {
		M map[string][]*row `flatbuf:"m"`
	}
	_, err := codecOf[list](t).Marshal(&list{map[string][]*row{"a": {{}}, "b": {{}, nil}}})
	if f, ok := err.(*diag.Fault); !ok || f.Code != diag.InvalidValue || f.Path() != `m["b"].value[1]` {
		t.Errorf("%v", err)
	}
	loop := &chart{}
	loop.Charts = map[string]*chart{"again": loop}
	if _, err := codecOf[chart](t).Marshal(loop); diag.CodeOf(err) != diag.DepthLimit {
		t.Errorf("%v", err)
	}
}

func TestMarshalOfMapsDoesNotAllocate(t *testing.T) {
	c := codecOf[chart](t)
	want := randomChart(rand.New(rand.NewPCG(42, 43)), 2)
	var b flatbuf.Builder
	if n := allocations(func() {
		if err := c.MarshalTo(&b, want); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A vector of a thousand entries that all are one is no map of a thousand, and takes no
// memory for them.
func TestMapsOfSharedEntriesEnd(t *testing.T) {
	type wide struct {
		M map[uint32]row `flatbuf:"m"`
	}
	var b flatbuf.Builder
	b.StartObject(2)
	one := b.EndObject()
	rows := make([]flatbuf.UOffsetT, 1<<16)
	for i := range rows {
		rows[i] = one
	}
	vector := b.CreateVectorOfTables(rows)
	b.StartObject(1)
	b.PrependUOffsetTSlot(0, vector, 0)
	b.Finish(b.EndObject())
	var v wide
	if err := codecOf[wide](t, flatbuf.Verified()).Unmarshal(b.FinishedBytes(), &v); diag.CodeOf(err) != diag.DuplicateKey || len(v.M) > 1 {
		t.Errorf("%v, %d entries", err, len(v.M))
	}
}

// FuzzMaps holds for any bytes that Unmarshal neither panics nor reads outside them, and
// that what it read comes back from its own message.
func FuzzMaps(f *testing.F) {
	checked, trusting := codecOf[chart](f), codecOf[chart](f, flatbuf.Verified())
	r := rand.New(rand.NewPCG(44, 45))
	for i := range 12 {
		msg, err := checked.Marshal(randomChart(r, i%3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(msg)
	}
	edge := guard.New(f, 1<<16)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		b = edge.Put(b)
		var got, back chart
		_ = trusting.Unmarshal(b, &got)
		got = chart{}
		if checked.Unmarshal(b, &got) != nil {
			return
		}
		msg, err := checked.Marshal(&got)
		if err != nil {
			t.Fatal(err)
		}
		if err := checked.Unmarshal(msg, &back); diag.CodeOf(err) == diag.SizeLimit {
			return // what the parts of b shared stands apart now
		} else if err != nil {
			t.Fatalf("%v of what was read and written", err)
		}
		if again, err := checked.Marshal(&back); err != nil || !bytes.Equal(again, msg) {
			t.Fatalf("another message comes of what was read: %v", err)
		}
	})
}
