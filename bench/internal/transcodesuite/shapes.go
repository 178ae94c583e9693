package transcodesuite

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/convert"
	"github.com/thrum-rpc/thrum/bench/internal/same"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

const (
	each   = 16  // elements per container of a Nesting
	many   = 160 // Nestings in large
	levels = 48  // of deep
)

var text = strings.Repeat("word ", 7)[:34]

func simple() *convert.Simple {
	return &convert.Simple{
		ByteField: math.MaxInt8, I64Field: math.MaxInt64, DoubleField: math.MaxFloat64, I32Field: math.MaxInt32,
		StringField: text, BinaryField: []byte(text[:32]),
	}
}

func nesting() *convert.Nesting {
	v := &convert.Nesting{
		Text: text, Number: math.MaxFloat64, Int32: math.MaxInt32, Int64: math.MaxInt64, Simple: simple(),
		Bytes: []byte(text[:32]), Int8: math.MaxInt8, MapStringString: map[string]string{},
		MapI32I64: map[int32]int64{}, MapI64String: map[int64]string{}, MapStringSimple: map[string]*convert.Simple{},
	}
	for i := range each {
		key := strconv.Itoa(i)
		v.ListSimple = append(v.ListSimple, simple())
		v.ListI32 = append(v.ListI32, math.MinInt32)
		v.MapStringString[key] = text
		v.MapI32I64[int32(i)] = math.MinInt64
		v.ListString = append(v.ListString, text)
		v.MapI64String[int64(i)] = text
		v.ListI64 = append(v.ListI64, math.MinInt64)
		v.MapStringSimple[key] = simple()
	}
	return v
}

func nestings() *convert.Nestings {
	v := &convert.Nestings{}
	for range many {
		v.All = append(v.All, nesting())
	}
	return v
}

func deep() *convert.Deep {
	var v *convert.Deep
	for i := range levels {
		v = &convert.Deep{Name: text[:20], Number: int64(i) << 20, Next: v}
	}
	return v
}

// shape is a value in both forms, and what the contenders need of its type.
type shape struct {
	name    string
	method  string // whose argument it is
	json    []byte
	message []byte
	kitex   bool // the message as FastCodec writes it, to read only
	def     *schema.StructDef
	limit   limit
	sonic   sonicFastCodec
	// value is the canonical form of the JSON text in b.
	value func(b []byte) ([]byte, error)
}

func shapes() ([]*shape, error) {
	file, list := thriftidl.Load("transcode.thrift", thriftidl.Sources(map[string][]byte{"transcode.thrift": idl.Transcode}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		return nil, err
	}
	small, err := newShape("small", file.Struct("Simple"), simple(), 114)
	if err != nil {
		return nil, err
	}
	small.limit = limit{fromJSON: simpleFromJSON, toJSON: simpleToJSON}
	medium, err := newShape("medium", file.Struct("Nesting"), nesting(), 6455)
	if err != nil {
		return nil, err
	}
	medium.limit = limit{fromJSON: nestingFromJSON, toJSON: nestingToJSON}
	kitexOrder := *medium
	kitexOrder.name, kitexOrder.kitex, kitexOrder.limit = "kitex-order", true, limit{}
	kitexOrder.message = fastMessage(nesting())
	large, err := newShape("large", file.Struct("Nestings"), nestings(), 8+many*6455+1)
	if err != nil {
		return nil, err
	}
	deep, err := newShape("deep", file.Struct("Deep"), deep(), 39*levels+3*(levels-1))
	return []*shape{small, medium, &kitexOrder, large, deep}, err
}

// newShape has the message of v, which must have size bytes.
func newShape[T any, P fast[T]](name string, def *schema.StructDef, v P, size int) (*shape, error) {
	s := &shape{name: name, method: name, def: def, sonic: newSonicFastCodec[T, P]()}
	s.value = func(b []byte) ([]byte, error) {
		back := new(T)
		if err := json.Unmarshal(b, back); err != nil {
			return nil, err
		}
		return same.Value(back)
	}
	var err error
	if s.json, err = json.Marshal(v); err != nil {
		return nil, err
	}
	c, err := transcode.New(def)
	if err != nil {
		return nil, err
	}
	if s.message, err = c.AppendThrift(nil, s.json); err != nil {
		return nil, err
	}
	if len(s.message) != size {
		return nil, fmt.Errorf("%s has %d bytes instead of %d", name, len(s.message), size)
	}
	return s, nil
}
