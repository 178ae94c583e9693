package interop

// The calls that all peers share, and how results are compared.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

const (
	shopIDL = "../../examples/shop/shop.thrift"
	peerIDL = "testdata/peer.thrift" // for the peers that forward calls
)

// call is one call and what it must give. Results are the JSON of the method's
// result struct, null for oneway, or {"applicationException": type}.
type call struct {
	Name   string          `json:"name"`
	Method string          `json:"method"`
	Args   json.RawMessage `json:"args"`
	Want   json.RawMessage `json:"want"` // in the file, absent for a method that returns its first argument

	// Demo marks a call that only the demo's service can answer: a server that
	// knows calls by their arguments would not recognise it, since peers differ
	// in which fields they send when they are not set.
	Demo bool `json:"demo,omitempty"`
}

func loadCalls(t *testing.T) []call {
	t.Helper()
	text, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&calls); err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if c.Want == nil {
			var args map[string]json.RawMessage
			if err := json.Unmarshal(c.Args, &args); err != nil || len(args) != 1 {
				t.Fatalf("%s: a call without a wanted result needs one argument", c.Name)
			}
			for _, value := range args {
				calls[i].Want = json.RawMessage(`{"success":` + string(value) + `}`)
			}
		}
	}
	if testing.Short() {
		return calls
	}
	return append([]call{largeCall(t)}, calls...) // first, as some peers stumble over the last
}

// largeCall is a call with some megabytes that do not compress, in every way
// to have many: bytes, text of more bytes than letters, and elements.
func largeCall(t *testing.T) call {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	var letters strings.Builder
	for range 1 << 18 {
		letters.WriteRune('一' + random.Int32N(20000))
	}
	numbers := make([]int32, 1<<15)
	for i := range numbers {
		numbers[i] = int32(random.Uint32())
	}
	value, err := json.Marshal(map[string]any{
		"flag": true, "tiny": 1, "small": 2, "medium": 3, "large": 4, "ratio": 0.5, "format": 1,
		"data": data, "text": letters.String(), "numbers": numbers, "words": []string{"large"},
		"byText": struct{}{}, "byNumber": struct{}{}, "byEnum": struct{}{}, "byStruct": []int{}, "byBool": struct{}{},
		"author": map[string]any{"name": "n"}, "delivery": map[string]any{"email": "e"}, "nested": []int{},
		"must": 1, "label": "l", "listed": []int{}, "counted": struct{}{}, "shelf": map[string]any{"aisle": 1, "level": 1},
		"blobs": []int{}, "shelves": []int{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return call{
		Name: "some megabytes", Method: "echo",
		Args: slices.Concat([]byte(`{"value":`), value, []byte("}")),
		Want: slices.Concat([]byte(`{"success":`), value, []byte("}")),
	}
}

func loadShop(t *testing.T) *schema.Service {
	t.Helper()
	file, list := thriftidl.Load(shopIDL)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	shop := file.Service("Shop")
	if shop == nil {
		t.Fatal("no service Shop in " + shopIDL)
	}
	return shop
}

// compare reports each place where the result of a call differs from the
// wanted one.
func compare(t *testing.T, shop *schema.Service, c call, got json.RawMessage) {
	t.Helper()
	for _, d := range mismatches(t, shop, c, got) {
		t.Errorf("%s: %s", c.Name, d)
	}
}

func mismatches(t *testing.T, shop *schema.Service, c call, got json.RawMessage) []string {
	t.Helper()
	method := shop.Method(c.Method)
	if method == nil || method.Oneway() || bytes.Contains(c.Want, []byte("applicationException")) {
		// There is no result struct.
		if compact(t, got) != compact(t, c.Want) {
			return []string{fmt.Sprintf("got %s, want %s", got, c.Want)}
		}
		return nil
	}
	typ := method.Result().Type()
	return differences("", normal(typ, decode(t, c.Want)), normal(typ, decode(t, got)))
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b.String()
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// normal gives equal values of a type one form, as far as JSON leaves a
// choice: enums become numbers, doubles their shortest text, maps sorted lists
// of pairs, sets sorted lists.
func normal(typ *schema.Type, v any) any {
	switch v := v.(type) {
	case json.Number:
		return normalText(typ, v.String())
	case string:
		return normalText(typ, v)
	case []any:
		return normalList(typ, v)
	case map[string]any:
		if typ.Kind() == schema.Map {
			pairs := make([]any, 0, len(v))
			for key, value := range v {
				pairs = append(pairs, []any{normalText(typ.Key(), key), normal(typ.Elem(), value)})
			}
			return sorted(pairs)
		}
		out := map[string]any{}
		for name, value := range v {
			if field := typ.Struct().FieldByName(name); field != nil {
				value = normal(field.Type(), value)
			}
			out[name] = value
		}
		return out
	}
	return v
}

func normalText(typ *schema.Type, text string) any {
	switch typ.Kind() {
	case schema.Enum:
		if value := typ.Enum().ByName(text); value != nil {
			return strconv.FormatInt(value.Value, 10)
		}
	case schema.Double:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return text
}

func normalList(typ *schema.Type, v []any) any {
	out := make([]any, len(v))
	for i, e := range v {
		if pair, ok := e.([]any); ok && typ.Kind() == schema.Map && len(pair) == 2 {
			out[i] = []any{normal(typ.Key(), pair[0]), normal(typ.Elem(), pair[1])}
		} else {
			out[i] = normal(typ.Elem(), e)
		}
	}
	if typ.Kind() == schema.List {
		return out
	}
	return sorted(out)
}

func sorted(v []any) []any {
	slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return v
}

// differences lists the paths at which got differs from want.
func differences(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		var out []string
		for name, w := range want {
			out = append(out, differences(path+"."+name, w, got[name])...)
		}
		for name, g := range got {
			if _, ok := want[name]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: got %v, want nothing", path, name, g))
			}
		}
		return out
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		var out []string
		for i := range want {
			out = append(out, differences(path+"["+strconv.Itoa(i)+"]", want[i], got[i])...)
		}
		return out
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: got %v, want %v", path, got, want)}
}
