package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file compares the engines with each other: the interpreter says what is right.

// engines is a type on the interpreter and in machine code.
type engines struct {
	interp, jit *compiled
	// maps: which of several faults comes first depends on the order of map entries.
	maps bool
}

func needsMachineCode(t testing.TB) {
	t.Helper()
	if !jit.Supported() {
		t.Skip("no machine code here")
	}
}

func enginesOf(t testing.TB, typ reflect.Type, opts ...Option) engines {
	t.Helper()
	needsMachineCode(t)
	text, err := PlanText(plan.Encode, typ)
	if err != nil {
		t.Fatal(err)
	}
	p := engines{maps: strings.Contains(text, " map ")}
	for k, c := range map[EngineKind]**compiled{Interp: &p.interp, JIT: &p.jit} {
		if *c, err = compile(typ, newConfig(append([]Option{Deterministic(), Engine(k)}, opts...)), shared.pool); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// sameFault reports whether two errors have the same code, offset, path and text.
func (p engines) sameFault(x, y error) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return (p.maps || x.Error() == y.Error()) && diag.CodeOf(x) == diag.CodeOf(y)
}

// agree compares all that the encoders do with the value at v.
func (p engines) agree(v mem.Pointer) error {
	want, wantErr := p.interp.encoder.Append(nil, v)
	front := []byte("front")
	for _, capacity := range []int{0, 1, len(want) / 3, len(want) / 2, len(want) - 1, len(want), len(want) + 1, len(want) + 100} {
		dst := append(make([]byte, 0, max(0, capacity)+len(front)), front...)
		got, err := p.jit.encoder.Append(dst, v)
		if !p.sameFault(err, errAt(wantErr, p.interp, front, v)) {
			return errors.Join(errors.New("the faults differ"), err, wantErr)
		}
		if err == nil && string(got) != string(front)+string(want) {
			return fmt.Errorf("the bytes differ at capacity %d:\n got %x\nwant %x%x", capacity, got, front, want)
		}
		if err != nil && len(got) != len(front) {
			return errors.New("a fault does not give back what was there")
		}
		if capacity >= len(want) && err == nil && cap(got) != cap(dst) {
			return errors.New("a buffer that has room was replaced")
		}
	}
	n, err := p.jit.encoder.Size(v)
	if m, wantErr := p.interp.encoder.Size(v); n != m || !p.sameFault(err, wantErr) {
		return errors.New("the sizes differ")
	}
	for _, threshold := range []int{1, 5, 100} {
		b, cuts, err := p.jit.encoder.Gather(nil, nil, v, threshold)
		b2, cuts2, err2 := p.interp.encoder.Gather(nil, nil, v, threshold)
		if !bytes.Equal(b, b2) || !reflect.DeepEqual(cuts, cuts2) || !p.sameFault(err, err2) {
			return fmt.Errorf("what is gathered from %d bytes on differs: %q %d %v, want %q %d %v", threshold, b, len(cuts), err, b2, len(cuts2), err2)
		}
	}
	return nil
}

// errAt is the fault of encoding behind front, if there is one without it.
func errAt(err error, c *compiled, front []byte, v mem.Pointer) error {
	if err == nil {
		return nil
	}
	_, err = c.encoder.Append(bytes.Clone(front), v)
	return err
}

func TestEnginesEncodeTheSame(t *testing.T) {
	for seed := range int64(150) {
		if err := enginesAgree(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func enginesAgree(t testing.TB, seed int64) error {
	r := rand.New(rand.NewSource(seed))
	typ := randomStruct(r)
	protocol := []Protocol{Binary, Binary, Compact, CompactFBThrift}[r.Intn(4)]
	opts := []Option{Use(protocol)}
	if r.Intn(3) == 0 {
		opts = append(opts, MaxDepth(1+r.Intn(8)))
	}
	if _, err := compile(typ, newConfig(opts), shared.pool); err != nil {
		return nil // a type that the protocol lacks
	}
	p := enginesOf(t, typ, opts...)
	for range 4 {
		v := reflect.New(typ)
		fill(r, v.Elem(), 4)
		if err := p.agree(v.UnsafePointer()); err != nil {
			return err
		}
	}
	return p.agree(reflect.New(typ).UnsafePointer())
}

func FuzzEnginesEncodeTheSame(f *testing.F) {
	for seed := range int64(10) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		if err := enginesAgree(t, seed); err != nil {
			t.Fatal(err)
		}
	})
}

// mixture has what random types seldom have: long lists of each kind, and long texts.
type mixture struct {
	Wrapped  *lists         `frugal:"1,default,lists"`
	Own      lists          `frugal:"2,default,lists"`
	Many     []*lists       `frugal:"3,default,list<lists>"`
	Text     string         `frugal:"4,default,string"`
	Maybe    *string        `frugal:"5,optional,string"`
	Nested   [][][]int32    `frugal:"6,default,list<list<list<i32>>>"`
	Fixed    [][16]byte     `frugal:"7,default,set<uuid>"`
	ByName   map[string]int `frugal:"8,default,map<string:i64>"`
	Sparse   *int64         `frugal:"9,optional,i64"`
	Optional []byte         `frugal:"10,optional,binary"`
}

type lists struct {
	Bytes   []byte        `frugal:"1,default,binary"`
	Bools   []bool        `frugal:"2,default,list<bool>"`
	Shorts  []int16       `frugal:"3,default,list<i16>"`
	Ints    []int32       `frugal:"4,default,list<i32>"`
	Longs   []int64       `frugal:"5,default,list<i64>"`
	Doubles []float64     `frugal:"6,optional,list<double>"`
	Kinds   []enumeration `frugal:"7,default,list<enumeration>"`
	Words   []string      `frugal:"8,default,list<string>"`
	Blobs   [][]byte      `frugal:"9,default,list<binary>"`
	Leaves  []leaf        `frugal:"10,default,list<leaf>"`
	Kind    enumeration   `frugal:"11,default,enumeration"`
}

// filledLists has n elements in each list.
func filledLists(n int) *lists {
	l := &lists{Bytes: bytes.Repeat([]byte{7}, n)}
	for i := range n {
		l.Bools = append(l.Bools, i%3 == 0)
		l.Shorts = append(l.Shorts, int16(i*31))
		l.Ints = append(l.Ints, int32(i*31031))
		l.Longs = append(l.Longs, int64(i)*0x10203040506)
		l.Doubles = append(l.Doubles, float64(i)/3)
		l.Kinds = append(l.Kinds, enumeration(-i))
		l.Words = append(l.Words, strings.Repeat("w", i%70))
		l.Blobs = append(l.Blobs, bytes.Repeat([]byte("b"), i%40))
		m := int32(i)
		l.Leaves = append(l.Leaves, leaf{&m, int16(i)})
	}
	return l
}

func TestEnginesEncodeLongListsTheSame(t *testing.T) {
	p := enginesOf(t, reflect.TypeFor[mixture]())
	for _, n := range []int{0, 1, 3, 15, 16, 17, 33, 64, 100, 1000} {
		text := strings.Repeat("long", n)
		long := int64(n)
		v := &mixture{Wrapped: filledLists(n), Own: *filledLists(n / 2), Text: text, Maybe: &text, Fixed: make([][16]byte, n), Sparse: &long,
			ByName: map[string]int{text: n}, Many: []*lists{filledLists(3), nil, filledLists(n)}}
		for i := range n {
			v.Nested = append(v.Nested, [][]int32{{int32(i)}, nil, make([]int32, i)})
		}
		if err := p.agree(mem.Of(v)); err != nil {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

// plenty has maps of every kind that machine code writes from arrays, and others.
type plenty struct {
	Flags    map[bool]int8              `frugal:"1,default,map<bool:i8>"`
	Shorts   map[int16]bool             `frugal:"2,default,map<i16:bool>"`
	Ints     map[int32]float64          `frugal:"3,default,map<i32:double>"`
	Doubles  map[float64]int32          `frugal:"4,default,map<double:i32>"`
	Kinds    map[enumeration]int16      `frugal:"5,default,map<enumeration:i16>"`
	ByKind   map[int8]enumeration       `frugal:"6,default,map<i8:enumeration>"`
	Texts    map[string]string          `frugal:"7,default,map<string:string>"`
	Blobs    map[int64][]byte           `frugal:"8,default,map<i64:binary>"`
	Lists    map[string][]int32         `frugal:"9,default,map<string:list<i32>>"`
	Words    map[int8][]string          `frugal:"10,optional,map<i8:list<string>>"`
	Structs  map[string]*thread         `frugal:"11,default,map<string:thread>"`
	Keys     map[*leaf]*lists           `frugal:"12,default,map<leaf:lists>"`
	Driven   map[int32]*mixture         `frugal:"13,default,map<i32:mixture>"`
	Maps     map[int32]map[string]int64 `frugal:"14,default,map<i32:map<string:i64>>"`
	IDs      map[[16]byte]string        `frugal:"15,default,map<uuid:string>"`
	Nested   []map[string]int32         `frugal:"16,default,list<map<string:i32>>"`
	Sets     map[int64][]*leaf          `frugal:"17,default,map<i64:set<leaf>>"`
	Optional *plenty                    `frugal:"18,optional,plenty"`
}

func filledPlenty(n int) *plenty {
	v := &plenty{
		Flags: map[bool]int8{}, Shorts: map[int16]bool{}, Ints: map[int32]float64{}, Doubles: map[float64]int32{}, Kinds: map[enumeration]int16{},
		ByKind: map[int8]enumeration{}, Texts: map[string]string{}, Blobs: map[int64][]byte{}, Lists: map[string][]int32{}, Words: map[int8][]string{},
		Structs: map[string]*thread{}, Keys: map[*leaf]*lists{}, Driven: map[int32]*mixture{}, Maps: map[int32]map[string]int64{}, IDs: map[[16]byte]string{},
		Sets: map[int64][]*leaf{},
	}
	for i := range n {
		text := strings.Repeat("t", i%150) + fmt.Sprint(i)
		v.Flags[i%2 == 0], v.Shorts[int16(i*99)], v.Ints[int32(-i)<<20] = int8(i), i%3 == 0, float64(i)/7
		v.Doubles[float64(i)], v.Kinds[enumeration(i)], v.ByKind[int8(i)] = int32(i), int16(-i), enumeration(-i)
		v.Texts[text], v.Blobs[int64(i)<<33] = text+text, []byte(text)
		v.Lists[text], v.Words[int8(i)] = make([]int32, i), []string{text, "", text}
		v.Maps[int32(i)], v.IDs[[16]byte{byte(i), 1}] = map[string]int64{text: int64(i)}, text
		v.Nested = append(v.Nested, map[string]int32{text: int32(i)})
		if i < 20 {
			m := int32(i)
			v.Structs[text] = &thread{N: m, Next: &thread{More: []*thread{nil, {N: m}}}}
			v.Keys[&leaf{&m, int16(i)}] = filledLists(i)
			v.Driven[m] = &mixture{Text: text, ByName: map[string]int{text: i}}
			v.Sets[int64(i)] = []*leaf{{&m, 1}, nil}
		}
	}
	if n > 1 {
		v.Structs["nil"], v.Blobs[-1], v.Optional = nil, nil, filledPlenty(n/2)
	}
	return v
}

// Entries come in any order, so what both engines write is compared after it was decoded and written in order.
func TestEnginesEncodeMapsTheSame(t *testing.T) {
	needsMachineCode(t)
	typ := reflect.TypeFor[plenty]()
	for _, protocol := range []Protocol{Binary, Compact} {
		ordered := enginesOf(t, typ, Use(protocol)).interp
		c, err := compile(typ, newConfig([]Option{Engine(JIT), Use(protocol)}), shared.pool)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 3, 17, 64, 129} {
			v := filledPlenty(n)
			want, err := ordered.marshal(mem.Of(v))
			if err != nil {
				t.Fatal(err)
			}
			inOrder := func(b []byte) ([]byte, error) {
				back := new(plenty)
				if _, err := ordered.decoder.Decode(b, mem.Of(back), nil); err != nil {
					return nil, err
				}
				return ordered.marshal(mem.Of(back))
			}
			same, err := inOrder(want)
			if err != nil {
				t.Fatal(err)
			}
			check := func(how string, b []byte, err error) {
				t.Helper()
				var got []byte
				if err == nil {
					got, err = inOrder(b)
				}
				if err != nil || len(b) != len(want) || !bytes.Equal(got, same) {
					t.Errorf("%d entries, %s: another value, %v", n, how, err)
				}
			}
			for _, room := range []int{0, len(want) - 1, len(want)} {
				b, err := c.encoder.Append(make([]byte, 0, room), mem.Of(v))
				check(fmt.Sprint("room for ", room), b, err)
				if room == len(want) && cap(b) != room {
					t.Error("a buffer with room was replaced")
				}
			}
			for _, threshold := range []int{1, 100} {
				b, cuts, err := c.encoder.Gather(nil, nil, mem.Of(v), threshold)
				var whole []byte
				at := 0
				for _, cut := range cuts {
					whole = append(append(whole, b[at:cut.Offset]...), cut.Data...)
					at = cut.Offset
				}
				check(fmt.Sprint("gathered from ", threshold), append(whole, b[at:]...), err)
			}
		}
		bad := &plenty{ByKind: map[int8]enumeration{1: 1, 2: 1 << 40}}
		_, err = c.encoder.Append(nil, mem.Of(bad))
		if _, want := ordered.encoder.Append(nil, mem.Of(bad)); err == nil || diag.CodeOf(err) != diag.CodeOf(want) {
			t.Errorf("an enum that is too large in a map: %v, want %v", err, want)
		}
	}
}

// Arrays of entries are used again by whoever comes next.
func TestMapsOfManyGoroutinesAreTheirOwn(t *testing.T) {
	needsMachineCode(t)
	type shape struct {
		M map[string]*thread `frugal:"1,default,map<string:thread>"`
	}
	p := enginesOf(t, reflect.TypeFor[shape]())
	c, err := For[shape](Engine(JIT))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				v := shape{map[string]*thread{}}
				for k := range (g*37 + i) % 90 {
					v.M[fmt.Sprint(g, i, k)] = &thread{N: int32(k), Next: &thread{N: int32(g)}}
				}
				b, err := c.Marshal(&v)
				if i%40 == 0 {
					runtime.GC()
				}
				var back shape
				if err == nil {
					_, err = c.Unmarshal(b, &back)
				}
				want, _ := p.interp.marshal(mem.Of(&v))
				if got, err2 := p.interp.marshal(mem.Of(&back)); err != nil || err2 != nil || !bytes.Equal(got, want) {
					t.Errorf("another value: %v, %v", err, err2)
					return
				}
			}
		})
	}
	wg.Wait()
}

// One entry into machine code handles 256 KiB; what is larger takes several,
// at every kind of element.
func TestEnginesEncodeMoreThanOneEntryHandles(t *testing.T) {
	p := enginesOf(t, reflect.TypeFor[mixture]())
	huge := filledLists(40_000)
	text := strings.Repeat("0123456789", 40_000)
	for name, v := range map[string]*mixture{
		"one nested struct":   {Wrapped: huge},
		"an inlined struct":   {Own: *huge},
		"one element":         {Many: []*lists{nil, huge, filledLists(1)}},
		"many elements":       {Many: slicesOf(filledLists(50), 300)},
		"nested lists":        {Nested: [][][]int32{{make([]int32, 100_000)}, {huge.Ints, huge.Ints}}},
		"long texts":          {Text: text, Maybe: &text, Wrapped: &lists{Words: []string{text, "short", text}}},
		"a long list of uuid": {Fixed: make([][16]byte, 50_000)},
	} {
		if err := p.agree(mem.Of(v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func slicesOf[T any](v T, n int) (all []T) {
	for range n {
		all = append(all, v)
	}
	return all
}

func TestEnginesRefuseTheSame(t *testing.T) {
	p := enginesOf(t, reflect.TypeFor[mixture]())
	bad := filledLists(100)
	bad.Kinds[99] = 1 << 40
	torn := filledLists(3)
	mem.SetPtr(mem.Of(&torn.Words), nil)
	tornBytes := filledLists(3)
	mem.SetPtr(mem.Of(&tornBytes.Blobs[2]), nil)
	for name, v := range map[string]*mixture{
		"an enum that is too large":                      {Own: lists{Kind: 1 << 33}},
		"a nested enum that is too large":                {Wrapped: &lists{Kind: 1 << 33}},
		"a list of enums with one that is too large":     {Own: *bad, Many: []*lists{bad}},
		"a nested list with one that is too large":       {Many: []*lists{nil, bad}},
		"a nil pointer with a length":                    {Own: *torn},
		"a nil pointer with a length, nested":            {Many: []*lists{torn}},
		"a nil pointer with a length among the elements": {Wrapped: tornBytes},
	} {
		if _, err := p.interp.encoder.Append(nil, mem.Of(v)); err == nil {
			t.Errorf("%s: the interpreter encodes it", name)
		}
		if err := p.agree(mem.Of(v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEnginesStopAtTheSameDepth(t *testing.T) {
	for limit := 1; limit < 40; limit += 3 {
		p := enginesOf(t, reflect.TypeFor[node](), MaxDepth(limit))
		for depth := limit - 3; depth < limit+3; depth++ {
			v := &node{Name: "the last"}
			for range depth {
				v = &node{Left: v}
			}
			if err := p.agree(mem.Of(v)); err != nil {
				t.Errorf("limit %d, depth %d: %v", limit, depth, err)
			}
		}
	}
	p := enginesOf(t, reflect.TypeFor[thread](), MaxDepth(5000))
	v := new(thread)
	for i := range 3000 {
		v = &thread{N: int32(i), Next: v}
	}
	if err := p.agree(mem.Of(v)); err != nil {
		t.Errorf("a chain of 3000: %v", err)
	}
	v.Next.Next.Next = v
	if err := p.agree(mem.Of(v)); err != nil {
		t.Errorf("a cycle: %v", err)
	}
}

// A chain may be longer than the stack of an entry into machine code, than the larger one that follows,
// and both may begin anywhere in a list.
func TestEnginesEncodeLongChainsTheSame(t *testing.T) {
	for _, protocol := range []Protocol{Binary, Compact} {
		p := enginesOf(t, reflect.TypeFor[thread](), MaxDepth(10_000), Use(protocol))
		for _, length := range []int{100, 2100} {
			v := &thread{N: -1}
			for i := range length {
				v = &thread{N: int32(i), Next: v}
				if i%(length/3) == 0 {
					v.More = []*thread{nil, {N: 1, Next: v.Next}, {N: 2}}
				}
			}
			if err := p.agree(mem.Of(v)); err != nil {
				t.Errorf("%d links: %v", length, err)
			}
			w := &thread{More: []*thread{v, {Next: v}, v}}
			if err := p.agree(mem.Of(w)); err != nil {
				t.Errorf("%d links in a list: %v", length, err)
			}
		}
	}
}

// sparse takes long to be found empty: what machine code does at a time is bounded all the same.
type sparse struct {
	A *int32  `frugal:"1,optional,i32"`
	B *int32  `frugal:"2,optional,i32"`
	C *int32  `frugal:"3,optional,i32"`
	D *int32  `frugal:"4,optional,i32"`
	E *int32  `frugal:"5,optional,i32"`
	F *int32  `frugal:"6,optional,i32"`
	G *int32  `frugal:"7,optional,i32"`
	H *int32  `frugal:"8,optional,i32"`
	I *int32  `frugal:"9,optional,i32"`
	J *int32  `frugal:"10,optional,i32"`
	K []int64 `frugal:"11,optional,list<i64>"`
	L *leaf   `frugal:"12,optional,leaf"`
}

type sparseLists struct {
	Flat   []*sparse   `frugal:"1,default,list<sparse>"`
	Nested [][]*sparse `frugal:"2,default,list<list<sparse>>"`
}

func TestEnginesEncodeManyNearlyEmptyStructsTheSame(t *testing.T) {
	for _, protocol := range []Protocol{Binary, Compact} {
		p := enginesOf(t, reflect.TypeFor[sparseLists](), Use(protocol))
		n := int32(7)
		few := slicesOf(&sparse{J: &n}, 3)
		many := append(slicesOf(&sparse{}, 10_000), few...)
		v := &sparseLists{Flat: many, Nested: [][]*sparse{few, many, slicesOf[*sparse](nil, 9), many}}
		if err := p.agree(mem.Of(v)); err != nil {
			t.Error(err)
		}
	}
}

// thread has no maps, so that machine code calls itself.
type thread struct {
	N    int32     `frugal:"1,default,i32"`
	Next *thread   `frugal:"2,optional,thread"`
	More []*thread `frugal:"3,default,list<thread>"`
}

func TestMachineCodeEncodesWhileMemoryIsCollectedAndStacksGrow(t *testing.T) {
	p := enginesOf(t, reflect.TypeFor[mixture]())
	stop := make(chan bool)
	var collector sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 100 {
				v := &mixture{Wrapped: filledLists(i), Many: []*lists{filledLists(i / 2), filledLists(3)}}
				want, err := p.interp.encoder.Append(nil, mem.Of(v))
				if err != nil {
					t.Error(err)
					return
				}
				done := make(chan []byte)
				go func() {
					n, _ := p.jit.encoder.Size(mem.Of(v))
					got, _ := p.jit.encoder.Append(make([]byte, 0, n), mem.Of(v))
					if cap(got) != n {
						t.Errorf("a size of %d for %d bytes", n, len(got))
					}
					done <- got
				}()
				if got := <-done; !bytes.Equal(got, want) {
					t.Errorf("round %d differs", i)
					return
				}
			}
		}()
	}
	wg.Wait()
	close(stop)
	collector.Wait()
}

func TestReportTellsWhatRuns(t *testing.T) {
	needsMachineCode(t)
	c, err := For[thread](Engine(JIT))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Report()
	if c.Engine() != "jit" || r.Encode.Engine != "jit" || r.Encode.CodeSize == 0 || r.Encode.Declined != "" {
		t.Errorf("%s, %+v", c.Engine(), r)
	}
	numbers, err := For[lists](Engine(JIT))
	if err != nil {
		t.Fatal(err)
	}
	if r := numbers.Report(); r.Decode.Engine != "jit" || r.Decode.CodeSize == 0 || r.Decode.Declined != "" {
		t.Errorf("code that decodes: %+v", r)
	}
	c, err = For[thread](Engine(Interp))
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Report(); c.Engine() != "interp" || r != (Report{EngineUse{Engine: "interp"}, EngineUse{Engine: "interp"}}) {
		t.Errorf("%s, %+v", c.Engine(), r)
	}
	checked, err := For[lists](Engine(JIT), CheckSets())
	if err != nil {
		t.Fatal(err)
	}
	if r := checked.Report(); r.Encode.Engine != "jit" {
		t.Errorf("a type without sets is declined: %+v", r)
	}
	sets, err := For[mixture](Engine(JIT), CheckSets())
	if err != nil {
		t.Fatal(err)
	}
	if r := sets.Report(); r.Encode.Engine != "interp" || r.Encode.Declined != "sets are checked" {
		t.Errorf("a checked set: %+v", r)
	}
	var _ engine.Reporter = sets.c.encoder.(engine.Reporter)
}

func TestMachineCodeDoesNotAllocate(t *testing.T) {
	p := enginesOf(t, reflect.TypeFor[lists]())
	v := filledLists(50)
	b, err := p.jit.encoder.Append(nil, mem.Of(v))
	if err != nil {
		t.Fatal(err)
	}
	if n := allocations(func() { b, _ = p.jit.encoder.Append(b[:0], mem.Of(v)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := allocations(func() { _, _ = p.jit.encoder.Size(mem.Of(v)) }); n != 0 {
		t.Errorf("%v allocations for the size", n)
	}
}
