package flat_test

// What is generated from FlatBuffers' schemas, in use: messages that the typed
// builder, the object form and the functions with Google's names make, and how
// they are read.

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/golden/kinds"
)

func ptr[T any](v T) *T { return &v }

// fullKinds is a message with every field, none with its default.
func fullKinds() *kinds.KindsT {
	nested := flatbuf.NewBuilder(0)
	nested.Finish((&kinds.StatT{Name: "inner", Count: 1}).Pack(nested))
	return &kinds.KindsT{
		ABool: true, AByte: -1, AUbyte: 2, AShort: -3, AUshort: 4, AnInt: -5, AUint: 6, ALong: -7, AUlong: 8, AFloat: 9.5, ADouble: -10.25,
		DBool: false, DByte: 1, DInt: 0, DUlong: 2, DFloat: 0, DNan: 1, DInf: 2, DLevel: kinds.LevelLow, DColor: kinds.ColorRed, DBig: 3,
		OBool: ptr(false), OInt: ptr(int32(0)), ODouble: ptr(1.5), OLevel: ptr(kinds.LevelMiddle), OZero: ptr(byte(7)),
		Color: kinds.ColorGreen | kinds.ColorBlue, Level: kinds.LevelHigh,
		Text: "text", DText: "", Shared: "again", Required: "here",
		Point: &kinds.PointT{X: 1, Y: 2},
		Cell:  &kinds.CellT{At: &kinds.PointT{X: 3, Y: 4}, Level: kinds.LevelLow, On: true, Code: 1 << 60},
		Grid: &kinds.GridT{
			Row: [3]int32{1, -2, 3}, Flags: [2]bool{false, true}, Cells: [2]kinds.PointT{{X: 1}, {Y: 2}},
			Colors: [2]kinds.Color{kinds.ColorRed, kinds.ColorBlue}, Deep: [2]kinds.BoxT{{N: 1, Ids: [3]byte{1, 2, 3}}, {N: 2, Ids: [3]byte{4, 5, 6}}},
		},
		Stat: &kinds.StatT{Name: "a stat", Count: 9}, Self: &kinds.KindsT{Required: "self", DNan: math.Inf(1)},
		Stats:  []*kinds.StatT{{Name: "a", Count: 1}, {Name: "b", Count: 2}, {Name: "c", Count: 3}},
		Ranked: []*kinds.RankedT{{Level: kinds.LevelLow}, {Level: kinds.LevelHigh, Place: &kinds.PointT{X: 5, Y: 6}}},
		Boxed: []*kinds.BoxedT{
			{Box: &kinds.BoxT{N: 1, Ids: [3]byte{0, 0, 1}}, Note: "first"}, {Box: &kinds.BoxT{N: 1, Ids: [3]byte{0, 1, 0}}, Note: "second"},
		},
		Flags: []*kinds.FlagT{{On: false}, {On: true}},
		Shape: kinds.ShapeOfSpot(&kinds.PointT{X: 7, Y: 8}),
		Shapes: []*kinds.ShapeT{
			kinds.ShapeOfWord("word"), kinds.ShapeOfStat(&kinds.StatT{Name: "in a union", Count: 7}), kinds.ShapeOfSpot(&kinds.PointT{Y: 1}),
			kinds.ShapeOfOther(&kinds.StatT{Name: "other", Count: 8}),
		},
		Bools: []bool{true, false, true}, Bytes: []int8{-1, 1}, Data: []byte{1, 2, 255}, Shorts: []int16{-1}, Ints: []int32{1, 2}, Longs: []int64{-1, 1},
		Floats: []float32{1.5}, Doubles: []float64{-1.5, 2}, Levels: []kinds.Level{kinds.LevelLow, kinds.LevelHigh}, Colors: []kinds.Color{kinds.ColorRed},
		Texts: []string{"x", "", "z"}, Points: []*kinds.PointT{{X: 1, Y: 2}, {X: 3, Y: 4}},
		Pairs: []*kinds.PairT{{Id: 1, Value: 1}, {Id: 5, Value: 2}, {Id: 9, Value: 3}}, Grids: []*kinds.GridT{{Row: [3]int32{7, 8, 9}}},
		Cells: []*kinds.CellT{{At: &kinds.PointT{}, Code: 1}, {At: &kinds.PointT{}, Code: 2}}, DInts: []int32{4},
		Nested: append([]byte(nil), nested.FinishedBytes()...), Flex: flexValue(),
		FarText: "far", Far: []byte{9}, LongInts: []int32{-1, 0, 1}, LongData: []byte{1, 2}, LongPoints: []*kinds.PointT{{X: 9}},
		Last: 255,
	}
}

func flexValue() []byte {
	var b flexbuf.Builder
	b.Int(42)
	return b.Finish()
}

func pack(v *kinds.KindsT) []byte {
	b := flatbuf.NewBuilder(0)
	kinds.FinishKindsBuffer(b, v.Pack(b))
	return b.FinishedBytes()
}

func TestObjectsComeBackFromTheirMessages(t *testing.T) {
	for name, want := range map[string]*kinds.KindsT{"full": fullKinds(), "empty": {}, "defaults": kinds.NewKindsT()} {
		msg := pack(want)
		if !kinds.KindsBufferHasIdentifier(msg) {
			t.Error("no file identifier")
		}
		got, err := kinds.UnmarshalKinds(msg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if math.IsNaN(want.DNan) && math.IsNaN(got.DNan) {
			want.DNan, got.DNan = 0, 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\n%+v", name, got, want)
		}
	}
}

func TestDefaultsAreNotWritten(t *testing.T) {
	v := kinds.NewKindsT()
	if v.DInt != 42 || !v.DBool || v.DText != `say "hi"` || v.DBig != kinds.BigMax || !math.IsInf(float64(v.DInf), -1) {
		t.Errorf("%+v", v)
	}
	k := kinds.GetRootAsKinds(pack(v), 0)
	if tab := k.Table(); tab.Offset(30) != 0 || tab.Offset(34) != 0 {
		t.Error("a default is in the message")
	}
	if k.DInt() != 42 || string(k.DText()) != `say "hi"` || k.DUlong() != math.MaxUint64 || k.DLevel() != kinds.LevelHigh || k.OInt() != nil {
		t.Error("accessors do not know the defaults")
	}
	if !math.IsNaN(k.DNan()) {
		t.Error("the default that is no number")
	}
}

// build makes the message of fullKinds with the typed builder, in part.
func build(b *flatbuf.Builder) []byte {
	stat := kinds.NewStatBuilder(b, flatbuf.String(b, "a stat")).Count(9).End()
	stats := flatbuf.SortedTables(b, kinds.StatKeyCompare,
		kinds.NewStatBuilder(b, flatbuf.String(b, "c")).End(),
		kinds.NewStatBuilder(b, flatbuf.String(b, "a")).Count(1).End(),
		kinds.NewStatBuilder(b, flatbuf.String(b, "b")).End())
	word := flatbuf.String(b, "word")
	k := kinds.NewKindsBuilder(b, flatbuf.String(b, "here")).
		AnInt(-5).OInt(0).DInt(0).
		Point(&kinds.PointT{X: 1, Y: 2}).
		Stat(stat).Stats(stats).
		Shape(kinds.ShapeWordRef(word)).
		Shapes(flatbuf.Unions(b, kinds.ShapeStatRef(stat), kinds.ShapeWordRef(word))).
		Ints(flatbuf.Scalars(b, []int32{1, 2})).
		Texts(flatbuf.Strings(b, "x", "y")).
		Pairs(kinds.PairVector(b, []*kinds.PairT{{Id: 1, Value: 0.5}, {Id: 4, Value: 1.5}})).
		LongData(flatbuf.Scalars64(b, []byte{7, 8})).
		Last(1)
	kinds.FinishKindsBuffer(b, flatbuf.UOffsetT(k.End()))
	return b.FinishedBytes()
}

func TestTypedBuildersWriteWhatAccessorsRead(t *testing.T) {
	msg := build(new(flatbuf.Builder))
	if err := kinds.VerifyKinds(msg); err != nil {
		t.Fatal(err)
	}
	k := kinds.GetRootAsKinds(msg, 0)
	if k.AnInt() != -5 || k.OInt() == nil || *k.OInt() != 0 || k.DInt() != 0 || k.OBool() != nil || k.Last() != 1 || string(k.Required()) != "here" {
		t.Error("scalars")
	}
	if p := k.Point(nil); p.X() != 1 || p.Y() != 2 {
		t.Error("struct")
	}
	var s kinds.Stat
	if !k.StatsByKey(&s, "b") || s.Count() != 7 || k.StatsByKey(&s, "bb") || !k.StatsByKey(&s, "a") || s.Count() != 1 {
		t.Error("tables by key")
	}
	var p kinds.Pair
	if !k.PairsByKey(&p, 4) || p.Value() != 1.5 || k.PairsByKey(&p, 2) {
		t.Error("structs by key")
	}
	var u flatbuf.Table
	if k.ShapeType() != kinds.ShapeWord || !k.Shape(&u) || string(flatbuf.StringAt(&u)) != "word" {
		t.Error("union of a string")
	}
	if k.ShapesTypeLength() != 2 || k.ShapesType(0) != kinds.ShapeStat || !k.Shapes(&u, 0) {
		t.Fatal("vector of unions")
	}
	s.Init(u.Bytes, u.Pos)
	if string(s.Name()) != "a stat" {
		t.Error("a table in a vector of unions")
	}
	if k.TextsLength() != 2 || string(k.Texts(1)) != "y" || k.Ints(1) != 2 || !bytes.Equal(k.LongDataBytes(), []byte{7, 8}) || k.LongData(1) != 8 || k.LongDataLength() != 2 {
		t.Error("vectors")
	}
}

func TestAccessorsFindEveryKind(t *testing.T) {
	want := fullKinds()
	k := kinds.GetRootAsKinds(pack(want), 0)
	var g kinds.Grid
	k.Grids(&g, 0)
	if g.Row(2) != 9 || g.Row(3) != 0 || g.RowLength() != 3 || !g.MutateRow(0, 5) || g.Row(0) != 5 || g.MutateRow(3, 1) {
		t.Error("array in a struct")
	}
	var box kinds.Box
	if k.Grid(&g); !g.Deep(&box, 1) || box.Ids(2) != 6 || g.Deep(&box, 2) || !g.Flags(1) || g.Colors(1) != kinds.ColorBlue {
		t.Error("arrays of structs")
	}
	if n := k.NestedNestedRoot(); n == nil || string(n.Name()) != "inner" {
		t.Error("nested buffer")
	}
	if k.FlexFlexRoot().Int() != 42 {
		t.Error("FlexBuffer")
	}
	var b kinds.Boxed
	if !k.BoxedByKey(&b, &kinds.BoxT{N: 1, Ids: [3]byte{0, 1, 0}}) || string(b.Note()) != "second" {
		t.Error("table whose key is a struct")
	}
	var f kinds.Flag
	if !k.FlagsByKey(&f, true) || !f.On() {
		t.Error("table whose key is a bool")
	}
	var r kinds.Ranked
	if !k.RankedByKey(&r, kinds.LevelHigh) || r.Place(nil).Y() != 6 {
		t.Error("table whose key is an enum")
	}
	var l kinds.Point
	if string(k.FarText()) != "far" || k.LongInts(2) != 1 || k.LongIntsLength() != 3 || !k.LongPoints(&l, 0) || l.X() != 9 || k.Far(0) != 9 {
		t.Error("offsets of 64 bits")
	}
	if !k.MutateAnInt(77) || k.AnInt() != 77 || !k.MutateShorts(0, 12) || k.Shorts(0) != 12 || !k.MutateLongInts(1, 8) || k.LongInts(1) != 8 {
		t.Error("edits in place")
	}
	if kinds.Color(6).String() != "Color(6)" || kinds.LevelLow.String() != "Low" || kinds.EnumValuesLevel["High"] != 5 || kinds.ShapeWord.String() != "Word" {
		t.Error("names of enums")
	}
	if v, ok := want.Shapes[0].AsWord(); !ok || v != "word" {
		t.Error("value of a union")
	}
	if v, ok := want.Shapes[0].AsStat(); ok || v != nil {
		t.Error("value of a union that is another")
	}
}

// google makes a message by the functions with Google's names.
func google(b *flatbuf.Builder) []byte {
	name := b.CreateString("a")
	kinds.StatStart(b)
	kinds.StatAddName(b, name)
	kinds.StatAddCount(b, 7)
	stat := kinds.StatEnd(b)
	kinds.KindsStartPointsVector(b, 2)
	kinds.CreatePoint(b, 3, 4)
	kinds.CreatePoint(b, 1, 2)
	points := b.EndVector(2)
	kinds.KindsStartShapesVector(b, 1)
	b.PrependUOffsetT(stat)
	shapes := b.EndVector(1)
	kinds.KindsStartShapesTypeVector(b, 1)
	b.PrependByte(byte(kinds.ShapeStat))
	types := b.EndVector(1)
	required := b.CreateString("here")
	kinds.KindsStart(b)
	kinds.KindsAddRequired(b, required)
	kinds.KindsAddGrid(b, kinds.CreateGrid(b, [3]int32{1, 2, 3}, [2]bool{true, false}, [2]float32{1, 2}, [2]float32{3, 4},
		[2]kinds.Color{kinds.ColorRed, kinds.ColorBlue}, [2]uint16{7, 8}, [2][3]byte{{1, 2, 3}, {4, 5, 6}}))
	kinds.KindsAddPoints(b, points)
	kinds.KindsAddShapeType(b, kinds.ShapeOther)
	kinds.KindsAddShape(b, stat)
	kinds.KindsAddShapesType(b, types)
	kinds.KindsAddShapes(b, shapes)
	kinds.KindsAddDLevel(b, kinds.LevelHigh)
	kinds.KindsAddOZero(b, 0)
	kinds.FinishSizePrefixedKindsBuffer(b, kinds.KindsEnd(b))
	return b.FinishedBytes()
}

func TestGooglesNamesMakeTheSameMessages(t *testing.T) {
	msg := google(new(flatbuf.Builder))
	if err := kinds.VerifierOfKinds().With(flatbuf.FileIdentifier(kinds.KindsIdentifier)).VerifySizePrefixed64(msg); err != nil {
		t.Fatal(err)
	}
	k := kinds.GetSizePrefixedRootAsKinds(msg, 0).UnPack()
	want := kinds.NewKindsT()
	want.Required, want.OZero = "here", ptr(byte(0))
	stat := &kinds.StatT{Name: "a", Count: 7}
	want.Shape, want.Shapes = kinds.ShapeOfOther(stat), []*kinds.ShapeT{kinds.ShapeOfStat(stat)}
	want.Points = []*kinds.PointT{{X: 1, Y: 2}, {X: 3, Y: 4}}
	want.Grid = &kinds.GridT{
		Row: [3]int32{1, 2, 3}, Flags: [2]bool{true, false}, Cells: [2]kinds.PointT{{X: 1, Y: 3}, {X: 2, Y: 4}},
		Colors: [2]kinds.Color{kinds.ColorRed, kinds.ColorBlue}, Deep: [2]kinds.BoxT{{N: 7, Ids: [3]byte{1, 2, 3}}, {N: 8, Ids: [3]byte{4, 5, 6}}},
	}
	k.DNan, want.DNan = 0, 0
	if !reflect.DeepEqual(k, want) {
		t.Errorf("\n%+v\n%+v", k, want)
	}
}

func TestDamagedMessagesAreRefusedOrRead(t *testing.T) {
	msg := pack(fullKinds())
	refused := 0
	for i := range msg {
		for _, x := range []byte{1, 0x80, 0xFF} {
			bad := bytes.Clone(msg)
			bad[i] ^= x
			kinds.GetRootAsKinds(bad, 0).UnPack() // verified or not, it ends
			if v, err := kinds.UnmarshalKinds(bad); err != nil {
				refused++
			} else {
				pack(v)
			}
		}
		kinds.GetRootAsKinds(msg[:i], 0).UnPack()
		if _, err := kinds.UnmarshalKinds(msg[:i]); err == nil && i < len(msg)-8 { // the last bytes are padding
			t.Errorf("%d bytes of %d are accepted", i, len(msg))
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(fullKinds()))
	f.Add(build(new(flatbuf.Builder)))
	f.Fuzz(func(t *testing.T, msg []byte) {
		kinds.GetRootAsKinds(msg, 0).UnPack()
		v, err := kinds.UnmarshalKinds(msg)
		if err != nil {
			return
		}
		again := pack(v)
		if err := kinds.VerifyKinds(again); err != nil && v.Required != "" {
			t.Fatalf("a message from an object that was read is refused: %v", err)
		}
	})
}

func TestTypedBuildingAllocatesNothing(t *testing.T) {
	var b flatbuf.Builder
	name := "a stat with a name"
	n := testing.AllocsPerRun(100, func() {
		b.Reset()
		stat := kinds.NewStatBuilder(&b, flatbuf.String(&b, name)).Count(9).End()
		stats := flatbuf.Tables(&b, stat, stat)
		k := kinds.NewKindsBuilder(&b, flatbuf.String(&b, name)).AnInt(3).Stats(stats).End()
		b.Finish(flatbuf.UOffsetT(k))
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
