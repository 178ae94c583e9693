package codec

import (
	"reflect"
	"testing"
)

type inner struct {
	A int64  `frugal:"1,default,i64"`
	S string `frugal:"2,default,string"`
}
type color int64
type everything struct {
	B   bool                      `thrift:"b,1"`
	I8  int8                      `thrift:"i8,2"`
	I16 int16                     `thrift:"i16,3"`
	I32 int32                     `thrift:"i32,4"`
	I64 int64                     `thrift:"i64,5"`
	D   float64                   `thrift:"d,6"`
	F   float32                   `frugal:"7,default,float"`
	U   [16]byte                  `frugal:"8,default,uuid"`
	S   string                    `thrift:"s,9"`
	Bin []byte                    `thrift:"bin,10"`
	C   color                     `frugal:"11,default,color"`
	P   *inner                    `frugal:"12,default,inner"`
	V   inner                     `frugal:"13,default,inner"`
	O   *int64                    `frugal:"14,optional,i64"`
	OS  *string                   `frugal:"15,optional,string"`
	L   []int64                   `frugal:"16,default,list<i64>"`
	LS  []string                  `frugal:"17,default,list<string>"`
	LP  []*inner                  `frugal:"18,default,list<inner>"`
	LV  []inner                   `frugal:"19,default,set<inner>"`
	LL  [][]int32                 `frugal:"20,default,list<list<i32>>"`
	M   map[string]int32          `frugal:"21,default,map<string:i32>"`
	MP  map[int32]*inner          `frugal:"22,default,map<i32:inner>"`
	MV  map[string]inner          `frugal:"23,default,map<string:inner>"`
	ML  map[string][]string       `frugal:"24,default,map<string:list<string>>"`
	MM  map[int64]map[string]bool `frugal:"25,default,map<i64:map<string:bool>>"`
	ME  map[color][]byte          `frugal:"26,default,map<color:binary>"`
	R   *everything               `frugal:"27,optional,everything"`
	LE  []color                   `frugal:"28,default,list<color>"`
}

func TestRoundTripOfEveryType(t *testing.T) {
	n := int64(7)
	s := "opt"
	v := &everything{B: true, I8: -3, I16: 300, I32: -70000, I64: 1 << 40, D: 1.5, F: 2.5, U: [16]byte{1, 2}, S: "hello", Bin: []byte{9},
		C: 2, P: &inner{1, "x"}, V: inner{2, "y"}, O: &n, OS: &s, L: []int64{1, 2}, LS: []string{"a", ""}, LP: []*inner{{1, "p"}, {2, "q"}},
		LV: []inner{{3, "r"}}, LL: [][]int32{{1}, {}, {2, 3}}, M: map[string]int32{"k": 1, "l": 2}, MP: map[int32]*inner{4: {4, "four"}, 5: {5, "5"}},
		MV: map[string]inner{"v": {1, "v"}}, ML: map[string][]string{"x": {"y"}}, MM: map[int64]map[string]bool{1: {"t": true}}, ME: map[color][]byte{1: {1}}, LE: []color{1, 2}}
	v.R = &everything{L: []int64{}, Bin: []byte{}, P: &inner{}, LS: []string{}, LP: []*inner{}, LV: []inner{}, LL: [][]int32{}, M: map[string]int32{}, MP: map[int32]*inner{}, MV: map[string]inner{}, ML: map[string][]string{}, MM: map[int64]map[string]bool{}, ME: map[color][]byte{}, LE: []color{}}
	b, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := Size(v); n != len(b) {
		t.Fatal(n, len(b))
	}
	var w everything
	k, err := Unmarshal(b, &w)
	if err != nil || k != len(b) {
		t.Fatal(k, err)
	}
	if !reflect.DeepEqual(v, &w) {
		t.Fatalf("\n%+v\n%+v", v, w)
	}
	for i := range b {
		if _, err := Unmarshal(b[:i], new(everything)); err == nil {
			t.Fatal(i)
		}
	}
}

func TestACodecTellsWhetherItAliasesItsInput(t *testing.T) {
	type plain struct {
		S string `frugal:"1,default,string"`
	}
	type tagged struct {
		S string `frugal:"1,default,string,nocopy"`
	}
	type outer struct {
		L []*tagged `frugal:"1,default,list<tagged>"`
	}
	check := func(name string, got bool, err error, want bool) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	p, err := For[plain]()
	check("copies", p.Aliases(), err, false)
	p, err = For[plain](NoCopy())
	check("option", p.Aliases(), err, true)
	o, err := For[outer]()
	check("tag of an inner struct", o.Aliases(), err, true)
}

func TestAStructWithoutFieldsIsItsEnd(t *testing.T) {
	type empty struct{}
	for _, p := range []Protocol{Binary, Compact, CompactFBThrift} {
		c, err := For[empty](Use(p))
		if err != nil {
			t.Fatal(err)
		}
		appended, err := c.Append([]byte{7}, &empty{})
		if err != nil || !reflect.DeepEqual(appended, []byte{7, 0}) {
			t.Errorf("%v: Append: % x, %v", p, appended, err)
		}
		gathered, cuts, err := c.AppendCuts([]byte{7}, nil, &empty{}, 1)
		if err != nil || !reflect.DeepEqual(gathered, appended) || cuts != nil {
			t.Errorf("%v: AppendCuts: % x, %v, %v", p, gathered, cuts, err)
		}
		for _, m := range []struct {
			message []byte
			taken   int // 0 for an error
		}{
			{[]byte{0}, 1},
			{[]byte{0, 9}, 1}, // what stands behind is left alone
			{nil, 0},
			{[]byte{8}, 0}, // a field that ends at once
		} {
			if n, err := c.Unmarshal(m.message, &empty{}); (err == nil) != (m.taken > 0) || err == nil && n != m.taken {
				t.Errorf("%v: Unmarshal % x: %d, %v, want %d", p, m.message, n, err, m.taken)
			}
		}
	}
}
