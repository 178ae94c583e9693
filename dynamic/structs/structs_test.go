package structs_test

import (
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/structs"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

type Color int64

// Choice is a union as generators declare it.
type Choice struct {
	Number *int64  `thrift:"number,1,optional"`
	Text   *string `thrift:"text,2,optional"`
}

func (c *Choice) CountSetFieldsChoice() int { return 0 }

type Line struct {
	SKU   string  `thrift:"sku,1,required"`
	Count int32   `thrift:"count,2"`
	Price float64 `thrift:"price,3"`
}

type Order struct {
	ID      int64             `thrift:"id,1"`
	Name    *string           `thrift:"name,2,optional"`
	Lines   []*Line           `thrift:"lines,3" frugal:"3,default,list<Line>"`
	Tags    []string          `thrift:"tags,4" frugal:"4,default,set<string>"`
	ByName  map[string]*Line  `thrift:"byName,5" frugal:"5,default,map<string:Line>"`
	Counts  map[int32]int64   `thrift:"counts,6" frugal:"6,default,map<i32:i64>"`
	Color   Color             `thrift:"color,7" frugal:"7,default,Color"`
	Choice  *Choice           `thrift:"choice,8,optional" frugal:"8,optional,Choice"`
	Parent  *Order            `thrift:"parent,9,optional" frugal:"9,optional,Order"`
	Data    []byte            `thrift:"data,10" frugal:"10,default,binary"`
	Flag    bool              `thrift:"flag,11"`
	Key     [16]byte          `thrift:"key,12" frugal:"12,default,uuid"`
	ByLine  map[Color]float64 `thrift:"byColor,13" frugal:"13,default,map<Color:double>"`
	Ratio   float32           `thrift:"ratio,14" frugal:"14,default,float"`
	Small   int8              `thrift:"small,15"`
	Nothing int32             // no tag, no field
}

func order() *Order {
	name, number := "first", int64(5)
	return &Order{
		ID: 7, Name: &name, Lines: []*Line{{"a", 1, 0.5}, {"b", 2, 1.5}}, Tags: []string{"x", "y"},
		ByName: map[string]*Line{"l": {"c", 3, 2.5}}, Counts: map[int32]int64{1: 10}, Color: 2,
		Choice: &Choice{Number: &number}, Parent: &Order{ID: 6, Lines: []*Line{}, Tags: []string{}, ByName: map[string]*Line{}, Counts: map[int32]int64{}, Data: []byte{}, ByLine: map[Color]float64{}},
		Data: []byte{1, 0}, Flag: true, Key: [16]byte{15: 1}, ByLine: map[Color]float64{2: 0.25}, Ratio: 0.5, Small: -3,
	}
}

func mapper[T any](t testing.TB) *structs.Mapper[T] {
	t.Helper()
	m, err := structs.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkFault(t *testing.T, err error, code diag.Code, path string) {
	t.Helper()
	var f *diag.Fault
	if !errors.As(err, &f) || f.Code != code || f.Path() != path {
		t.Errorf("the error is %v, want %s at %q", err, code, path)
	}
}

func TestAStructBecomesAMapAndComesBack(t *testing.T) {
	m := mapper[Order](t)
	x, err := m.ToMap(order())
	if err != nil {
		t.Fatal(err)
	}
	if x["id"] != int64(7) || x["color"] != int32(2) || x["lines"].([]any)[1].(map[string]any)["sku"] != "b" ||
		x["byName"].(map[any]any)["l"].(map[string]any)["price"] != 2.5 || x["choice"].(map[string]any)["number"] != int64(5) ||
		x["ratio"] != float32(0.5) || x["key"] != [16]byte{15: 1} {
		t.Error(x)
	}
	if _, ok := x["parent"].(map[string]any)["name"]; ok {
		t.Error("an optional field that is nil is in the map")
	}
	var back Order
	if err := m.FromMap(x, &back); err != nil || !reflect.DeepEqual(&back, order()) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestAStructBecomesAMapByIDAndComesBack(t *testing.T) {
	m := mapper[Order](t)
	x, err := m.ToMapByID(order())
	if err != nil {
		t.Fatal(err)
	}
	if x[1] != int64(7) || x[3].([]any)[0].(map[int16]any)[1] != "a" || string(x[10].([]byte)) != "\x01\x00" {
		t.Error(x)
	}
	var back Order
	if err := m.FromMap(x, &back); err != nil || !reflect.DeepEqual(&back, order()) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestAMapIsCheckedAgainstTheStruct(t *testing.T) {
	m := mapper[Order](t)
	line := map[string]any{"sku": "a"}
	for _, c := range []struct {
		x    any
		code diag.Code
		path string
	}{
		{map[string]any{"small": 128}, diag.OutOfRange, "small"},
		{map[string]any{"color": int64(1) << 40}, diag.OutOfRange, "color"},
		{map[string]any{"lines": []any{line, map[string]any{"sku": "b", "count": uint64(math.MaxUint64)}}}, diag.OutOfRange, "lines[1].count"},
		{map[string]any{"byName": map[string]any{"k": map[string]any{"count": 1}}}, diag.MissingRequired, `byName["k"]`},
		{map[string]any{"counts": map[any]any{int64(1) << 40: 1}}, diag.OutOfRange, "counts[key]"},
		{map[string]any{"id": "7"}, diag.InvalidValue, "id"},
		{map[string]any{"ratio": 1e300}, diag.OutOfRange, "ratio"},
		{map[string]any{"nobody": 1}, diag.UnknownField, ""},
		{map[string]any{"choice": map[string]any{"number": 1, "text": "x"}}, diag.InvalidUnion, "choice"},
		{7, diag.InvalidValue, ""},
	} {
		before := Order{ID: 1}
		checkFault(t, m.FromMap(c.x, &before), c.code, c.path)
	}
}

func TestFieldsWithoutAKeyKeepTheirValues(t *testing.T) {
	v := Line{"a", 1, 0.5}
	if err := mapper[Line](t).FromMap(map[string]any{"sku": "b"}, &v); err != nil || v != (Line{"b", 1, 0.5}) {
		t.Error(v, err)
	}
}

func TestAStructReadsAPartOfAMessageInEveryProtocol(t *testing.T) {
	orders, lines := mapper[Order](t), mapper[Line](t)
	v, err := orders.Value(order())
	if err != nil || v.Type() != orders.Type() {
		t.Fatal(v, err)
	}
	part, err := v.Get(dynamic.Name("lines"), dynamic.Index(1))
	if err != nil {
		t.Fatal(err)
	}
	var line Line
	if err := lines.Read(part.Node, &line); err != nil || line != (Line{"b", 2, 1.5}) {
		t.Error(line, err)
	}
	for _, p := range []codec.Protocol{codec.Compact, codec.CompactFBThrift} {
		c, err := codec.For[Line](codec.Use(p))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Marshal(&Line{"c", 3, 2.5})
		if err != nil {
			t.Fatal(err)
		}
		proto := map[codec.Protocol]dynamic.Protocol{codec.Compact: dynamic.Compact, codec.CompactFBThrift: dynamic.CompactFBThrift}[p]
		if err := lines.Read(proto.NewNode(thriftwire.Struct, b), &line); err != nil || line != (Line{"c", 3, 2.5}) {
			t.Error(p, line, err)
		}
	}
}

func TestReadingFaults(t *testing.T) {
	m := mapper[Line](t)
	var v Line
	checkFault(t, m.Read(dynamic.Node{}, &v), diag.NotFound, "")
	checkFault(t, m.Read(dynamic.NewI32(1), &v), diag.TypeMismatch, "")
	b := thriftwire.AppendI64(thriftwire.AppendField(nil, thriftwire.I64, 2), 1)
	checkFault(t, m.Read(dynamic.NewNode(thriftwire.Struct, append(b, 0)), &v), diag.TypeMismatch, "count")
	// fbthrift's compact protocol has no uuid.
	checkFault(t, mapper[Order](t).Read(dynamic.CompactFBThrift.NewNode(thriftwire.Struct, []byte{0}), new(Order)), diag.Unsupported, "")
	if _, err := structs.For[int](); err == nil {
		t.Error("an int passes for a struct")
	}
}

// Bill has fields of Order under their ids with other types, and one field
// under another id.
type Bill struct {
	ID     int32                  `thrift:"number,1"`
	Name   []byte                 `thrift:"title,2" frugal:"2,default,binary"`
	Lines  []BillLine             `thrift:"rows,3" frugal:"3,default,set<BillLine>"`
	Tags   []string               `thrift:"tags,4" frugal:"4,default,list<string>"`
	ByName map[string]BillLine    `thrift:"rowsByName,5" frugal:"5,default,map<string:BillLine>"`
	Counts map[int64]float64      `thrift:"counts,6" frugal:"6,default,map<i64:double>"`
	Color  int16                  `thrift:"color,7"`
	Choice *Choice                `thrift:"choice,8,optional" frugal:"8,optional,Choice"`
	Parent *Bill                  `thrift:"parent,9,optional" frugal:"9,optional,Bill"`
	Ratio  float64                `thrift:"ratio,14"`
	Small  Color                  `thrift:"small,15" frugal:"15,default,Color"`
	Own    string                 `thrift:"own,40"`
	_      map[string]interface{} // no tag, no field
}

type BillLine struct {
	Price float32 `thrift:"price,3" frugal:"3,default,float"`
	Count int64   `thrift:"count,2"`
}

func TestAStructBecomesAnotherByID(t *testing.T) {
	c, err := structs.Between[Order, Bill]()
	if err != nil {
		t.Fatal(err)
	}
	bill := Bill{Own: "kept"}
	if err := c.Convert(order(), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.ID != 7 || string(bill.Name) != "first" || len(bill.Lines) != 2 || bill.Lines[1] != (BillLine{1.5, 2}) || bill.Tags[1] != "y" ||
		bill.ByName["l"] != (BillLine{2.5, 3}) || bill.Counts[1] != 10 || bill.Color != 2 || *bill.Choice.Number != 5 ||
		bill.Parent.ID != 6 || bill.Ratio != 0.5 || bill.Small != -3 || bill.Own != "kept" {
		t.Errorf("%+v", bill)
	}
}

func TestConversionFaultsSayWhere(t *testing.T) {
	c, err := structs.Between[Order, Bill]()
	if err != nil {
		t.Fatal(err)
	}
	for path, change := range map[string]func(*Order){
		"id":             func(o *Order) { o.ID = 1 << 31 },
		"parent.id":      func(o *Order) { o.Parent.ID = -1<<31 - 1 },
		"color":          func(o *Order) { o.Color = 1 << 15 },
		"lines[1].price": func(o *Order) { o.Lines[1].Price = 1e300 },
		"counts[value]":  func(o *Order) { o.Counts[1] = 1<<53 + 1 },
	} {
		o := order()
		change(o)
		checkFault(t, c.Convert(o, new(Bill)), diag.OutOfRange, path)
	}
	o := order()
	o.Choice.Number = nil
	if err := c.Convert(o, new(Bill)); diag.CodeOf(err) != diag.InvalidUnion {
		t.Error(err)
	}
	type Other struct {
		Lines []string `thrift:"lines,3" frugal:"3,default,list<string>"`
	}
	_, err = structs.Between[Order, Other]()
	checkFault(t, err, diag.TypeMismatch, "lines[element]")
}

// Renamed has fields of Order under their names with other ids.
type Renamed struct {
	Name  *string        `thrift:"name,1,optional"`
	ID    int64          `thrift:"id,2"`
	Lines []*RenamedLine `thrift:"lines,4" frugal:"4,default,list<RenamedLine>"`
	Other int64          `thrift:"other,7"`
}

type RenamedLine struct {
	Count int32  `thrift:"count,1"`
	SKU   string `thrift:"sku,2"`
}

func TestAStructBecomesAnotherByName(t *testing.T) {
	c, err := structs.Between[Order, Renamed](structs.ByName())
	if err != nil {
		t.Fatal(err)
	}
	var out Renamed
	if err := c.Convert(order(), &out); err != nil || *out.Name != "first" || out.ID != 7 || len(out.Lines) != 2 || *out.Lines[1] != (RenamedLine{2, "b"}) || out.Other != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	back, err := structs.Between[Renamed, Order](structs.ByName())
	if err != nil {
		t.Fatal(err)
	}
	var o Order
	if err := back.Convert(&out, &o); err != nil || o.ID != 7 || *o.Lines[0] != (Line{"a", 1, 0}) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestUnknownFieldsPassThroughById(t *testing.T) {
	type Narrow struct {
		ID             int64 `thrift:"id,1"`
		_unknownFields []byte
	}
	type Wide struct {
		ID   int32  `thrift:"id,1"`
		Name string `thrift:"name,2"`
	}
	var n Narrow
	v, err := mapper[Order](t).Value(order())
	if err != nil {
		t.Fatal(err)
	}
	if err := mapper[Narrow](t).Read(v.Node, &n); err != nil || len(n._unknownFields) == 0 {
		t.Fatal(n, err)
	}
	c, err := structs.Between[Narrow, Wide]()
	if err != nil {
		t.Fatal(err)
	}
	var w Wide
	if err := c.Convert(&n, &w); err != nil || w != (Wide{7, "first"}) {
		t.Error(w, err)
	}
	o, err := structs.Between[Narrow, Order]()
	if err != nil {
		t.Fatal(err)
	}
	var whole Order
	if err := o.Convert(&n, &whole); err != nil || !reflect.DeepEqual(&whole, order()) {
		t.Errorf("%+v, %v", whole, err)
	}
}

func TestMappersAndConvertersAreSharedByGoroutines(t *testing.T) {
	m := mapper[Order](t)
	c, err := structs.Between[Order, Bill]()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				var bill Bill
				x, err := m.ToMap(order())
				if err == nil {
					err = m.FromMap(x, new(Order))
				}
				if err == nil {
					err = c.Convert(order(), &bill)
				}
				if err != nil || bill.ID != 7 {
					t.Error(bill.ID, err)
				}
			}
		})
	}
	wg.Wait()
}
