package transcode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/random"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds conversions of random values of random types against a
// model of the mapping and against each other.

func TestRandomMessagesConvertToTheModelAndBack(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := random.Struct(r, random.Types{})
		c := converter(t, d, transcode.RejectUnknown(), transcode.StrictTypes())
		for range 3 {
			v := random.Value(r, d, 6)
			thrift := random.AppendBinary(nil, d.Type(), v)
			text, n, err := c.AppendJSON(nil, thrift)
			if err != nil || n != len(thrift) {
				t.Fatalf("seed %d: to JSON: n %d of %d, %v", seed, n, len(thrift), err)
			}
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.UseNumber()
			var got any
			if err := dec.Decode(&got); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, text, err)
			}
			if diff := differs(d.Type(), v, got); diff != "" {
				t.Fatalf("seed %d: %s: %s", seed, text, diff)
			}
			back, err := c.AppendThrift(nil, text)
			if err != nil || !bytes.Equal(back, thrift) {
				t.Fatalf("seed %d: %s became %x, want %x, %v", seed, text, back, thrift, err)
			}
			// The indented text means the same.
			var spaced bytes.Buffer
			if err := json.Indent(&spaced, text, "", "\t"); err != nil {
				t.Fatal(err)
			}
			if back, err = c.AppendThrift(nil, spaced.Bytes()); err != nil || !bytes.Equal(back, thrift) {
				t.Fatalf("seed %d: indented: %v", seed, err)
			}
		}
	}
}

// differs says where got, read by encoding/json, is not the JSON of v.
func differs(t *schema.Type, v, got any) string {
	switch v := v.(type) {
	case *random.Message:
		return differsMessage(v, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(v) {
			return fmt.Sprintf("%v is not %s of length %d", got, t, len(v))
		}
		for i := range v {
			if d := differs(t.Elem(), v[i], list[i]); d != "" {
				return fmt.Sprintf("[%d]: %s", i, d)
			}
		}
		return ""
	case []random.Entry:
		return differsMap(t, v, got)
	}
	if want := scalar(t, v); got != want {
		return fmt.Sprintf("%#v, want %#v", got, want)
	}
	return ""
}

func differsMessage(v *random.Message, got any) string {
	object, ok := got.(map[string]any)
	if !ok || len(object) != len(v.Fields) {
		return fmt.Sprintf("%v is not a %s with %d fields", got, v.Def.Name(), len(v.Fields))
	}
	for _, f := range v.Fields {
		member, ok := object[f.Field.Name()]
		if !ok {
			return "no member " + f.Field.Name()
		}
		if d := differs(f.Field.Type(), f.Value, member); d != "" {
			return f.Field.Name() + ": " + d
		}
	}
	return ""
}

func differsMap(t *schema.Type, v []random.Entry, got any) string {
	if t.Key().Kind() >= schema.List {
		list, ok := got.([]any)
		if !ok || len(list) != len(v) {
			return fmt.Sprintf("%v is not %s of length %d", got, t, len(v))
		}
		for i, e := range v {
			pair, ok := list[i].([]any)
			if !ok || len(pair) != 2 {
				return fmt.Sprintf("%v is no pair", list[i])
			}
			if d := differs(t.Key(), e.Key, pair[0]) + differs(t.Elem(), e.Value, pair[1]); d != "" {
				return fmt.Sprintf("[%d]: %s", i, d)
			}
		}
		return ""
	}
	object, ok := got.(map[string]any)
	if !ok || len(object) != len(v) {
		return fmt.Sprintf("%v is not %s of length %d", got, t, len(v))
	}
	for _, e := range v {
		key := fmt.Sprint(scalar(t.Key(), e.Key))
		if d := differs(t.Elem(), e.Value, object[key]); d != "" {
			return fmt.Sprintf("[%q]: %s", key, d)
		}
	}
	return ""
}

// scalar returns the JSON of v as encoding/json reads it.
func scalar(t *schema.Type, v any) any {
	switch v := v.(type) {
	case int64:
		if t.Kind() == schema.Enum {
			if e := t.Enum().ByValue(v); e != nil {
				return e.Name
			}
		}
		return json.Number(strconv.FormatInt(v, 10))
	case float32:
		return number(json.Marshal(v))
	case float64:
		return number(json.Marshal(v))
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
	}
	return v // bool, string
}

func number(b []byte, _ error) json.Number { return json.Number(b) }
