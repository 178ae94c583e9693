package golden_test

// What the golden packages do when they are used.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/gen/internal/golden/base"
	"github.com/thrum-rpc/thrum/gen/internal/golden/options"
	names "github.com/thrum-rpc/thrum/gen/internal/golden/type"
	"github.com/thrum-rpc/thrum/gen/internal/golden/types"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

func ptr[T any](v T) *T { return &v }

func fullItem() *types.Item {
	p := types.NewItem()
	p.Id = 7
	p.Name = "lamp"
	p.Maybe = ptr(int16(0))
	p.Kids = []*types.Item{types.NewItem()}
	p.Kids[0].Route = &base.Route{} // a nil one travels as an empty one, which gets its defaults
	p.Places = map[string]*base.Place{"here": {Lat: 1}}
	p.Data, p.Raw, p.Blob = []byte{0}, []byte("raw"), []byte("blob")
	p.Levels = []base.Level{base.Level_HIGH}
	p.Owner, p.Owner2 = 8, ptr(base.UserId(0))
	p.Small = ptr(int8(-1))
	p.Bytes = []int8{-1, 1}
	p.Blobs = [][]byte{{1}, {2}}
	p.ByBytes = map[string]int32{"\xff": 1}
	p.Shade = types.ColorPtr(types.Color_BLUE)
	p.Nested = map[int32]map[string][][]types.Color{1: {"a": {{types.Color_RED}, {}}}}
	p.Key, p.Other = [16]byte{1, 15: 2}, &[16]byte{3}
	p.Route = &base.Route{Level: base.Level_HIGH}
	return p
}

func TestGeneratedStructsRoundTrip(t *testing.T) {
	want := fullItem()
	b, err := codec.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := types.NewItem()
	if n, err := codec.Unmarshal(b, got); err != nil || n != len(b) {
		t.Fatalf("n = %d of %d, %v", n, len(b), err)
	}
	again, err := codec.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != len(b) || got.Id != 7 || got.GetMaybe() != 0 || got.Maybe == nil || got.Kids[0].Color != types.Color_GREEN ||
		!reflect.DeepEqual(got.Nested, want.Nested) || got.Key != want.Key || *got.Other != *want.Other {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestAbsentOptionalFieldsReadAsTheirDefaults(t *testing.T) {
	b, err := codec.Marshal(types.NewItem())
	if err != nil {
		t.Fatal(err)
	}
	got := types.NewItem()
	if _, err := codec.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	if got.GetName() != "none" || got.IsSetName() || !got.GetFlag() || got.GetOd() != -1.5e300 || got.GetHue() != types.Color_RED {
		t.Errorf("scalars: %v", got)
	}
	if got.IsSetMaybe() || got.GetMaybe() != 0 || got.IsSetRaw() || string(got.GetRaw()) != "abc" {
		t.Errorf("without a value: %v", got)
	}
	got.Numbers = nil
	if got.IsSetNumbers() || !reflect.DeepEqual(got.GetNumbers(), []int32{1, 2}) {
		t.Errorf("numbers: %v", got.GetNumbers())
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	a := types.NewItem()
	a.Words[0] = "changed"
	a.Place.Lat = 99
	b := types.NewItem()
	if b.Words[0] != "a" || base.WORDS[0] != "a" || b.Place.Lat != 2.5 {
		t.Errorf("words %v, constant %v, place %v", b.Words, base.WORDS, b.Place)
	}
}

func TestConstantsHoldTheirValues(t *testing.T) {
	if types.GREETING != "hi \"there\"\n`'" || types.BIG != 1<<63-1 || types.FAVOURITE != types.Color_BLUE || types.ROOT != 5 {
		t.Error("scalars differ")
	}
	if want := map[types.Color]string{types.Color_RED: "last"}; !reflect.DeepEqual(types.BY_COLOR, want) {
		t.Errorf("BY_COLOR = %v", types.BY_COLOR)
	}
	if d := types.DEFAULT_ITEM; d.Id != 3 || *d.Maybe != 7 || d.Name != "none" || d.Level != base.Level_HIGH || d.Place.Lat != 2.5 {
		t.Errorf("DEFAULT_ITEM = %v", d)
	}
	var n int = base.MAX // untyped, as users of Kitex expect
	if n != 10 || len(types.LETTERS) != 2 || string(types.BYTES) != "\x00\xff" {
		t.Error("MAX, LETTERS or BYTES differ")
	}
}

func TestEnumsHaveNames(t *testing.T) {
	if s := fmt.Sprint(types.Color_CRIMSON, types.Color_BLUE, types.Color(99)); s != "RED BLUE <UNSET>" {
		t.Error(s)
	}
	if c, err := types.ColorFromString("CRIMSON"); err != nil || c != types.Color_RED {
		t.Error(c, err)
	}
	if _, err := types.ColorFromString("PINK"); err == nil {
		t.Error("PINK is taken for a colour")
	}
}

func TestUnionsCountTheirFields(t *testing.T) {
	var c types.Choice
	if c.CountSetFieldsChoice() != 0 {
		t.Error("the empty union has fields set")
	}
	c.Number, c.Choices = ptr(int64(0)), []*types.Choice{}
	if c.CountSetFieldsChoice() != 2 {
		t.Errorf("CountSetFieldsChoice = %d", c.CountSetFieldsChoice())
	}
}

// store implements types.Store.
type store struct{ noted chan int64 }

func (store) Hello(_ context.Context, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("wrapped: %w", &base.Broken{Message: "nameless"})
	}
	return "hello " + name, nil
}
func (store) Ping(context.Context) error { return nil }
func (store) Find(_ context.Context, user base.UserId) (*base.Route, error) {
	return &base.Route{Level: base.Level(user)}, nil
}
func (store) Get(_ context.Context, id int64) (*types.Item, error) {
	switch id {
	case 0:
		return nil, nil
	case 1:
		e := types.NewNotFound()
		e.What = "one"
		return nil, e
	case 2:
		return nil, errors.New("undeclared")
	}
	p := fullItem()
	p.Id = id
	return p, nil
}
func (s store) Forget(_ context.Context, id int64, _ types.Color) error { s.noted <- id; return nil }
func (s store) Put(_ context.Context, _ *types.Item, _ *base.Place, times int32) error {
	s.noted <- int64(times)
	return nil
}
func (store) All(context.Context) ([]*types.Item, error)              { return nil, nil }
func (store) Raw(context.Context, map[string][]int64) ([]byte, error) { return []byte("raw"), nil }
func (store) Color(_ context.Context, c *types.Choice) (types.Color, error) {
	return types.Color(*c.Number), nil
}
func (store) Key(_ context.Context, of [16]byte) ([16]byte, error) { return of, nil }
func (store) Check(_ context.Context, a bool, b int8, c int16, d int32, e float64, f string, g []int64, h *types.Thing) (bool, error) {
	return a && b == 1 && c == 2 && d == 3 && e == 4 && f == "5" && len(g) == 1 && h.Id == 6, nil
}

func TestClientAndServiceMeet(t *testing.T) {
	ctx := context.Background()
	s := store{make(chan int64, 1)}
	c := types.NewStoreClient(rpctest.Start(t, types.NewStoreService(s)))

	item, err := c.Get(ctx, 9)
	if err != nil || item.Id != 9 || len(item.Kids) != 1 {
		t.Errorf("Get: %v, %v", item, err)
	}
	if hello, err := c.Hello(ctx, "you"); err != nil || hello != "hello you" {
		t.Errorf("Hello, inherited twice: %q, %v", hello, err)
	}
	if r, err := c.Find(ctx, 5); err != nil || r.Level != base.Level_HIGH {
		t.Errorf("Find: %v, %v", r, err)
	}
	if all, err := c.All(ctx); err != nil || len(all) != 0 {
		t.Errorf("a nil list is an empty result: %v, %v", all, err)
	}
	if color, err := c.Color(ctx, &types.Choice{Number: ptr(int64(2))}); err != nil || color != types.Color_GREEN {
		t.Errorf("Color: %v, %v", color, err)
	}
	if key, err := c.Key(ctx, [16]byte{1}); err != nil || key[0] != 1 {
		t.Errorf("Key: %v, %v", key, err)
	}
	if ok, err := c.Check(ctx, true, 1, 2, 3, 4, "5", []int64{1}, &types.Thing{}); err != nil || ok {
		t.Errorf("Check: %v, %v", ok, err)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Forget(ctx, 4, types.Color_RED); err != nil {
		t.Error(err)
	}
	if id := <-s.noted; id != 4 {
		t.Errorf("oneway: %d", id)
	}
}

func TestErrorsTravelAsWhatTheyAre(t *testing.T) {
	ctx := context.Background()
	c := types.NewStoreClient(rpctest.Start(t, types.NewStoreService(store{})))

	var missing *types.NotFound
	if _, err := c.Get(ctx, 1); !errors.As(err, &missing) || missing.What != "one" || missing.GetColor() != types.Color_RED {
		t.Errorf("declared: %v", err)
	}
	var broken *base.Broken
	if _, err := c.Hello(ctx, ""); !errors.As(err, &broken) || broken.Message != "nameless" {
		t.Errorf("declared and wrapped: %v", err)
	}
	var app *rpc.ApplicationException
	if _, err := c.Get(ctx, 2); !errors.As(err, &app) || app.Type != rpc.InternalError {
		t.Errorf("undeclared: %v", err)
	}
	if _, err := c.Get(ctx, 0); !errors.As(err, &app) || app.Type != rpc.MissingResult {
		t.Errorf("neither result nor error: %v", err)
	}
}

func TestArgumentsHaveDefaults(t *testing.T) {
	s := store{make(chan int64, 1)}
	c := rpctest.Start(t, types.NewStoreService(s))
	var none struct{}
	if err := rpc.Call(context.Background(), c, "put", &none, &none); err != nil {
		t.Fatal(err)
	}
	if times := <-s.noted; times != 2 {
		t.Errorf("times = %d, want its default", times)
	}
}

func TestNamesThatGoWantsAreUsable(t *testing.T) {
	p := &names.Name{Name: "a", Name_: "b", GetName__: "c", X_Hidden: 9, Read_: 1}
	b, err := codec.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got names.Name
	if _, err := codec.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(&got, p) {
		t.Errorf("%v, %v", &got, err)
	}
	var err2 error = &names.Errors{}
	if !errors.As(err2, new(*names.Errors)) || names.Kind_type != 1 {
		t.Error("exceptions are errors")
	}
}

func everything() *options.Everything {
	p := options.NewEverything()
	p.SetPoints([]options.Point{{X: 1}, {X: 2, Y: ptr(int32(3))}})
	p.SetByPoint(map[*options.Point][]options.Color{{X: 1}: {options.Color_RED}, {X: 2}: nil})
	p.SetRaw([]byte("{}"))
	p.SetWait(ptr(time.Second))
	p.SetQuery(map[string][]string{"a": {"b", "c"}})
	p.SetLarge([]byte("large"))
	p.SetURL("/")
	p.SetNext(options.NewEverything())
	p.SetNested([][]options.Point{{{X: 4}}, {}})
	p.SetNumbers([]int32{})
	p.SetKeys([][]byte{{1}, {2}})
	p.SetDeep(map[options.Color]map[int32][]byte{options.Color_RED: {1: {2}}})
	p.SetMaybe(options.ColorPtr(options.Color_BLUE))
	p.SetRatio(0.5)
	p.SetCounts(map[*options.Point]int32{{X: 5}: 6})
	return p
}

func TestDeepEqualSeesEachDifference(t *testing.T) {
	a, b := everything(), everything()
	if !a.DeepEqual(b) || !b.DeepEqual(a) || !(*options.Everything)(nil).DeepEqual(nil) {
		t.Fatal("equal values differ")
	}
	for name, change := range map[string]func(){
		"nil":      func() { b = nil },
		"scalar":   func() { b.Id++ },
		"optional": func() { b.Maybe = nil },
		"list":     func() { b.Points[1].Y = nil },
		"shorter":  func() { b.Points = b.Points[:1] },
		"map":      func() { b.Deep[options.Color_RED][1][0]++ },
		"key":      func() { b.ByPoint = map[*options.Point][]options.Color{{X: 1}: {options.Color_RED}, {X: 3}: nil} },
		"absent":   func() { b.Numbers = nil },
		"struct":   func() { b.Next.URL = "?" },
		"binary":   func() { b.Raw = nil },
	} {
		b = everything()
		change()
		if a.DeepEqual(b) {
			t.Errorf("%s: the difference is not seen", name)
		}
	}
}

func TestEnumsAreTextOnRequest(t *testing.T) {
	b, err := json.Marshal(map[options.Color][]options.Color{options.Color_RED: {options.Color_BLUE, 77}})
	if err != nil || string(b) != `{"RED":["BLUE","77"]}` {
		t.Errorf("%s, %v", b, err)
	}
	var got map[options.Color][]options.Color
	if err := json.Unmarshal(b, &got); err != nil || got[options.Color_RED][1] != 77 {
		t.Error(got, err)
	}
	if err := json.Unmarshal([]byte(`["PINK"]`), &[]options.Color{}); err == nil {
		t.Error("PINK is taken for a colour")
	}
}

func TestUnknownFieldsAreKeptOnRequest(t *testing.T) {
	b, err := codec.Marshal(everything())
	if err != nil {
		t.Fatal(err)
	}
	var p options.Point // has two of the fields, under other types
	if _, err := codec.Unmarshal(b, &p); err != nil || !p.CarryingUnknownFields() {
		t.Fatalf("%v, carrying %v", err, p.CarryingUnknownFields())
	}
	if again, err := codec.Marshal(&p); err != nil || len(again) < len(b) {
		t.Errorf("%d of %d bytes are written again, %v", len(again), len(b), err)
	}
}

func TestPretouchCompilesAService(t *testing.T) {
	if err := options.PretouchOptions(); err != nil {
		t.Error(err)
	}
}

func TestOptionsAndAnnotationsRoundTrip(t *testing.T) {
	want := everything()
	b, err := codec.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := options.NewEverything()
	if _, err := codec.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	if !got.DeepEqual(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	f, _ := reflect.TypeFor[options.Everything]().FieldByName("Id")
	if f.Tag.Get("json") != "ident" || f.Tag.Get("yaml") != "id" || reflect.TypeFor[options.Color]().Kind() != reflect.Int32 {
		t.Errorf("tag %q", f.Tag)
	}
}
