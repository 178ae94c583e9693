package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"pgregory.net/rapid"
)

// This file compares decoding by machine code with the interpreter where the
// corpus does not reach: many fields in a row, in any order, more than once, of
// other types, in long messages, and while the collector runs.

// broad has what machine code reads itself, and enough of it for several
// segments, and between that what it leaves.
type broad struct {
	Flag           bool              `frugal:"1,default,bool"`
	Byte           int8              `frugal:"2,required,i8"`
	Short          int16             `frugal:"3,default,i16"`
	Int            int32             `frugal:"4,required,i32"`
	Long           int64             `frugal:"5,default,i64"`
	Real           float64           `frugal:"6,default,double"`
	Single         float32           `frugal:"7,default,float"`
	ID             [16]byte          `frugal:"8,default,uuid"`
	Kind           enumeration       `frugal:"9,default,enumeration"`
	Text           string            `frugal:"10,required,string"`
	Raw            []byte            `frugal:"11,default,binary"`
	Direct         []byte            `frugal:"12,default,binary,nocopy"`
	MaybeFlag      *bool             `frugal:"13,optional,bool"`
	MaybeInt       *int32            `frugal:"14,optional,i32"`
	MaybeID        *[16]byte         `frugal:"15,optional,uuid"`
	MaybeText      *string           `frugal:"16,optional,string"`
	Longs          []int64           `frugal:"17,default,list<i64>"`
	Flags          []bool            `frugal:"18,default,set<bool>"`
	IDs            [][16]byte        `frugal:"19,default,list<uuid>"`
	Inner          *broad            `frugal:"20,optional,broad"`
	A              int32             `frugal:"21,default,i32"`
	B              int32             `frugal:"22,default,i32"`
	Names          map[string]string `frugal:"23,default,map<string:string>"`
	C              int64             `frugal:"300,default,i64"`
	D              string            `frugal:"301,default,string"`
	Words          []string          `frugal:"302,default,list<string>"`
	E              int8              `frugal:"303,default,i8"`
	Kinds          []enumeration     `frugal:"304,default,list<enumeration>"`
	Lines          []*line           `frugal:"305,default,list<line>"`
	Flat           []line            `frugal:"306,default,list<line>"`
	_unknownFields []byte
}

// line is read by machine code as a whole, so that lists of it are read in a row.
type line struct {
	N              int32  `frugal:"1,required,i32"`
	Text           string `frugal:"2,default,string"`
	Maybe          *int64 `frugal:"3,optional,i64"`
	Bytes          []int8 `frugal:"4,optional,list<i8>"`
	Flag           bool   `frugal:"5,required,bool"`
	_unknownFields []byte
}

// contender is a codec's decoder with a name.
type contender struct {
	name string
	c    *compiled
}

// contenders compiles t for the interpreter, and for machine code wherever
// that can be, with the same options.
func contenders(t testing.TB, typ reflect.Type, opts ...Option) (all []contender) {
	t.Helper()
	for _, e := range []engine.Engine{interp.Engine{}, jit.Engine{}, jit.Engine{Shortest: 1}} {
		cfg := newConfig(opts)
		cfg.custom = e
		c, err := compile(typ, cfg, engine.NewPool(0))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, contender{e.Name(), c})
	}
	return all
}

// outcome is what came of decoding: the value as text, and how it ended.
func outcome(c contender, typ reflect.Type, b []byte, before reflect.Value) (value reflect.Value, n int, err error) {
	v := reflect.New(typ)
	if before.IsValid() {
		v.Elem().Set(before)
	}
	n, err = c.c.decoder.Decode(b, v.UnsafePointer(), nil)
	return v, n, err
}

// sameOutcome reports how the contenders differ on b, if they do.
func sameOutcome(all []contender, typ reflect.Type, b []byte, before reflect.Value) string {
	want, wantN, wantErr := outcome(all[0], typ, b, before)
	wantText, _ := all[0].c.marshal(want.UnsafePointer())
	for _, c := range all[1:] {
		got, n, err := outcome(c, typ, b, before)
		if n != wantN || !reflect.DeepEqual(err, wantErr) {
			return c.name + " does not end as the interpreter: " + describe(n, err) + ", want " + describe(wantN, wantErr)
		}
		if text, _ := all[0].c.marshal(got.UnsafePointer()); !bytes.Equal(text, wantText) {
			return c.name + " decodes another value"
		}
	}
	return ""
}

func describe(n int, err error) string {
	if err == nil {
		err = errors.New("no error")
	}
	return err.Error() + " after " + strings.Repeat("|", min(n, 40))
}

func randomBroad(r *rand.Rand) *broad {
	v := new(broad)
	fill(r, reflect.ValueOf(v).Elem(), 3)
	return v
}

// fieldsOf cuts the encoding of a struct in the binary protocol into its fields.
func fieldsOf(b []byte) (fields [][]byte) {
	for len(b) > 1 {
		kind, _, n := thriftwire.ConsumeField(b)
		n += thriftwire.Skip(b[n:], kind, thriftwire.MaxDepth)
		fields = append(fields, b[:n])
		b = b[n:]
	}
	return fields
}

func TestMachineCodeDecodesAsTheInterpreterDoes(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	var sets [][]contender
	for _, opts := range [][]Option{nil, {NoCopy()}, {Strict(), CheckSets(), MaxContainer(3)}, {MaxDepth(2)}, {MaxBytes(200)}} {
		sets = append(sets, contenders(t, typ, append(opts, Deterministic())...))
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		all := sets[r.Intn(len(sets))]
		b, err := sets[0][0].c.marshal(mem.Of(randomBroad(r)))
		if err != nil {
			t.Fatal(err)
		}
		var before reflect.Value
		if r.Intn(3) == 0 { // what stands in the value already stays, or is replaced
			before = reflect.ValueOf(*randomBroad(r))
		}
		check := func(what string, b []byte) {
			if diff := sameOutcome(all, typ, b, before); diff != "" {
				t.Fatalf("%s: %x: %s", what, b, diff)
			}
		}
		check("whole", b)
		check("cut", b[:r.Intn(len(b))])
		fields := fieldsOf(b)
		for range 5 {
			mixed := append(shuffled(r, fields), 0)
			check("in another order", mixed)
			mixed[r.Intn(len(mixed))] ^= 1 << r.Intn(8)
			check("with a bit changed", mixed)
		}
	})
}

// shuffled joins the fields in another order, some twice, some never, some
// with another id or type, and some far away from the rest.
func shuffled(r *rand.Rand, fields [][]byte) (b []byte) {
	step := 1 + r.Intn(3)
	for range fields {
		f := fields[(len(b)+r.Intn(step))%len(fields)]
		b = append(b, f...)
		switch r.Intn(12) {
		case 0:
			binary.BigEndian.PutUint16(b[len(b)-len(f)+1:], uint16(r.Intn(400)))
		case 1:
			b = append(b, 11, 0, 99, 0, 0, 0, 2, 'x', 'y')
		}
	}
	return b
}

func TestMachineCodeEndsAtEachCutAsTheInterpreterDoes(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	all := contenders(t, typ, Deterministic())
	b, err := all[0].c.marshal(mem.Of(randomBroad(rand.New(rand.NewSource(5)))))
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if diff := sameOutcome(all, typ, bytes.Clone(b[:n]), reflect.Value{}); diff != "" {
			t.Fatalf("cut at %d: %s", n, diff)
		}
	}
}

// A message may be longer than what one entry into code reads, and have more
// texts than it can note.
func TestLongMessagesAreDecodedInParts(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	all := contenders(t, typ, Deterministic())
	long := strings.Repeat("long ", 60<<10)
	var b []byte
	for i := range 70_000 { // the same fields again and again
		b = binary.BigEndian.AppendUint32(field(b, 8, 4), uint32(i))
		b = append(field(b, 11, 10), 0, 0, 0, 3, 'a', 'b', byte(i))
	}
	texts := append(binary.BigEndian.AppendUint32(field(b, 11, 301), uint32(len(long))), long...)
	texts = append(append(texts, b...), 3, 0, 2, 7, 0)
	if diff := sameOutcome(all, typ, texts, reflect.Value{}); diff != "" {
		t.Fatal(diff)
	}
	v, n, err := outcome(all[2], typ, texts, reflect.Value{})
	if w := v.Interface().(*broad); err != nil || n != len(texts) || w.D != long || w.Int != 69_999 || w.Text != "ab"+string([]byte{byte(69_999 & 255)}) {
		t.Fatalf("read %d of %d bytes: %v", n, len(texts), err)
	}
}

// numbers has a list of each width, whose bytes are swapped in bulk from some length on.
type numbers struct {
	Shorts  []int16   `frugal:"1,default,list<i16>"`
	Ints    []int32   `frugal:"2,default,set<i32>"`
	Longs   []int64   `frugal:"3,default,list<i64>"`
	Doubles []float64 `frugal:"4,default,list<double>"`
	Floats  []float32 `frugal:"5,default,list<float>"`
}

func TestLongListsOfNumbersAreDecodedWhole(t *testing.T) {
	typ := reflect.TypeFor[numbers]()
	all := contenders(t, typ)
	arena := NewArena()
	for _, n := range []int{0, 1, 47, 48, 49, 63, 64, 1000, 1<<17 + 5} { // the last is longer than code copies at once
		v := new(numbers)
		for i := range n {
			x := int64(i) * 0x0123456789abcd
			v.Shorts, v.Ints, v.Longs = append(v.Shorts, int16(x)), append(v.Ints, int32(x)), append(v.Longs, -x)
			v.Doubles, v.Floats = append(v.Doubles, float64(x)), append(v.Floats, float32(-i))
		}
		b, err := all[0].c.marshal(mem.Of(v))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			for _, a := range []*engine.Arena{nil, arena.a} {
				got := new(numbers)
				if read, err := c.c.decoder.Decode(b, mem.Of(got), a); err != nil || read != len(b) {
					t.Fatalf("%s, %d numbers: read %d of %d bytes: %v", c.name, n, read, len(b), err)
				}
				if again, err := all[0].c.marshal(mem.Of(got)); err != nil || !bytes.Equal(again, b) {
					t.Fatalf("%s, %d numbers: another value: %v", c.name, n, err)
				}
				arena.Release()
			}
		}
		for _, cut := range []int{1, 2, 3 + n, 1 + 4*n} {
			if diff := sameOutcome(all, typ, b[:len(b)-min(len(b), cut)], reflect.Value{}); diff != "" {
				t.Fatalf("%d numbers without %d bytes: %s", n, cut, diff)
			}
		}
	}
}

// Lists of structs are longer than what one entry reads or notes, and end anywhere.
func TestRowsOfStructsAreDecodedInParts(t *testing.T) {
	type rows struct {
		Lines []*line `frugal:"1,default,list<line>"`
		Flat  []line  `frugal:"2,default,list<line>"`
	}
	typ := reflect.TypeFor[rows]()
	r := rand.New(rand.NewSource(3))
	var v rows
	for i := range 3000 {
		l := line{N: int32(i), Flag: i%2 == 0, Text: strings.Repeat("t", i%30), Bytes: make([]int8, i%5)}
		if m := int64(i); i%3 == 0 {
			l.Maybe = &m
		}
		v.Lines, v.Flat = append(v.Lines, &l), append(v.Flat, l)
	}
	for _, p := range []Protocol{Binary, Compact, CompactFBThrift} {
		writer := contenders(t, typ, Use(p))[0]
		for _, opts := range [][]Option{{NoCopy()}, {Strict(), MaxDepth(4)}, {MaxDepth(3)}, {MaxDepth(2)}} {
			all := contenders(t, typ, append(opts, Use(p))...)
			for _, n := range []int{1, 2, 3, 60, 3000} {
				b, err := writer.c.marshal(mem.Of(&rows{v.Lines[:n], v.Flat[:n]}))
				if err != nil {
					t.Fatal(err)
				}
				if diff := sameOutcome(all, typ, b, reflect.Value{}); diff != "" {
					t.Fatalf("%v, %d structs: %s", p, n, diff)
				}
				for range 2 + 100/n {
					bad := bytes.Clone(b[:len(b)-r.Intn(2)*r.Intn(len(b))])
					bad[r.Intn(len(bad))] ^= 1 << r.Intn(8)
					if diff := sameOutcome(all, typ, bad, reflect.Value{}); diff != "" {
						t.Fatalf("%v, %x: %s", p, bad, diff)
					}
				}
			}
		}
	}
	got, _, err := outcome(contenders(t, typ)[2], typ, mustMarshal(t, typ, &v), reflect.Value{})
	if w := got.Interface().(*rows); err != nil || !reflect.DeepEqual(w.Lines, v.Lines) || !reflect.DeepEqual(w.Flat, v.Flat) {
		t.Errorf("another value: %v", err)
	}
}

func mustMarshal[T any](t testing.TB, typ reflect.Type, v *T) []byte {
	t.Helper()
	b, err := contenders(t, typ)[0].c.marshal(mem.Of(v))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStructsOfARowKeepTheirUnknownFields(t *testing.T) {
	type rows struct {
		Lines []*line `frugal:"1,default,list<line>"`
	}
	unknown := append(field(nil, 3, 99), 5)
	b := append(field(nil, 15, 1), 12, 0, 0, 0, 3)
	for i := range 3 {
		b = append(field(b, 8, 1), 0, 0, 0, byte(i))
		if i == 1 {
			b = append(b, unknown...)
		}
		b = append(field(b, 2, 5), 1, 0)
	}
	b = append(b, 0)
	for _, c := range contenders(t, reflect.TypeFor[rows]()) {
		v, _, err := outcome(c, reflect.TypeFor[rows](), b, reflect.Value{})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range v.Interface().(*rows).Lines {
			if l.N != int32(i) || !l.Flag || (i == 1) != bytes.Equal(l._unknownFields, unknown) || i != 1 && l._unknownFields != nil {
				t.Errorf("%s: %d is %+v", c.name, i, l)
			}
		}
	}
}

func TestUnknownFieldsBetweenFieldsOfCodeAreKept(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	unknown := append(field(nil, 3, 99), 5)
	b := append(append(field(nil, 3, 2), 1), unknown...)
	b = append(append(field(b, 8, 4), 0, 0, 0, 9), unknown...)
	b = append(append(field(b, 11, 10), 0, 0, 0, 1, 'x'), 0)
	for _, c := range contenders(t, typ) {
		v, _, err := outcome(c, typ, b, reflect.Value{})
		if w := v.Interface().(*broad); err != nil || w.Byte != 1 || w.Int != 9 || w.Text != "x" || !bytes.Equal(w._unknownFields, append(unknown, unknown...)) {
			t.Errorf("%s: %+v, %v", c.name, w, err)
		}
	}
}

func TestMachineCodeSurvivesCollectionsAndGrowingStacks(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	all := contenders(t, typ, Deterministic())
	r := rand.New(rand.NewSource(7))
	var messages [][]byte
	for range 16 {
		b, err := all[0].c.marshal(mem.Of(randomBroad(r)))
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, b)
	}
	if err := pprof.StartCPUProfile(io.Discard); err == nil { // signals arrive while code runs
		defer pprof.StopCPUProfile()
	}
	stop := make(chan struct{})
	var collector, workers sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	for w := range 4 {
		workers.Go(func() {
			for i := range 100 {
				b := messages[(w+i)%len(messages)]
				var kept []*broad
				onNewStack(i%50, func() {
					for range 10 {
						v := new(broad)
						if _, err := all[2].c.decoder.Decode(b, mem.Of(v), nil); err != nil {
							t.Error(err)
							return
						}
						kept = append(kept, v)
					}
				})
				for _, v := range kept {
					if again, err := all[0].c.marshal(mem.Of(v)); err != nil || !bytes.Equal(again, b) {
						t.Errorf("a value changed: %v", err)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	collector.Wait()
}

// onNewStack calls f on a fresh goroutine, whose stack has to grow, from a depth of calls.
func onNewStack(depth int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		deeper(depth, f)
	}()
	<-done
}

//go:noinline
func deeper(n int, f func()) (sum byte) {
	var room [128]byte
	if n == 0 {
		f()
		return 0
	}
	room[n%len(room)] = deeper(n-1, f)
	for _, b := range room {
		sum += b
	}
	return sum
}

func TestMachineCodeDecodesDeepRecursionUpToTheLimit(t *testing.T) {
	typ := reflect.TypeFor[broad]()
	all := contenders(t, typ, MaxDepth(100), Deterministic())
	for _, depth := range []int{99, 100, 101, 102} {
		var b []byte
		for range depth - 1 {
			b = field(append(field(b, 3, 2), 1), 12, 20)
		}
		for range depth {
			b = append(b, field(nil, 8, 21)...)
			b = append(b, 0, 0, 0, 1, 0)
		}
		if diff := sameOutcome(all, typ, b, reflect.Value{}); diff != "" {
			t.Errorf("depth %d: %s", depth, diff)
		}
		_, _, err := outcome(all[2], typ, b, reflect.Value{})
		if fault, _ := err.(*diag.Fault); fault == nil || (fault.Code == diag.DepthLimit) != (depth > 100) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

func FuzzMachineCodeDecodesAsTheInterpreterDoes(f *testing.F) {
	typ := reflect.TypeFor[broad]()
	var sets [][]contender
	for _, opts := range [][]Option{nil, {NoCopy()}, {Strict(), CheckSets(), MaxContainer(3)}} {
		sets = append(sets, contenders(f, typ, append(opts, Deterministic())...))
	}
	r := rand.New(rand.NewSource(1))
	for i := range 6 {
		b, err := sets[0][0].c.marshal(mem.Of(randomBroad(r)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, set uint8, b []byte) {
		if diff := sameOutcome(sets[int(set)%len(sets)], typ, b, reflect.Value{}); diff != "" {
			t.Fatal(diff)
		}
	})
}
