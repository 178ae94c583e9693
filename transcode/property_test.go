package transcode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"pgregory.net/rapid"
)

// This file holds conversions of random values of random types against a
// model of the mapping and against each other.

func TestRandomMessagesConvertToTheModelAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		typ := conform.Struct(rt, conform.DefaultShape)
		c, err := transcode.New(typ.Struct(), transcode.RejectUnknown(), transcode.StrictTypes())
		if err != nil {
			rt.Fatal(err)
		}
		v := conform.Value(rt, typ, 5)
		thrift := conform.Append(nil, conform.Binary, typ, v)
		text, n, err := c.AppendJSON(nil, thrift)
		if emptyUnion(typ, v) {
			if diag.CodeOf(err) != diag.InvalidUnion {
				rt.Fatalf("a union without a field gives %v", err)
			}
			return
		}
		if err != nil || n != len(thrift) {
			rt.Fatalf("to JSON: n %d of %d, %v", n, len(thrift), err)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var got any
		if err := dec.Decode(&got); err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		if diff := differs(typ, v, got); diff != "" {
			rt.Fatalf("%s: %s", text, diff)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, text, "", "\t"); err != nil {
			rt.Fatal(err)
		}
		for _, text := range [][]byte{text, spaced.Bytes()} {
			if back, err := c.AppendThrift(nil, text); err != nil || !bytes.Equal(back, thrift) {
				rt.Fatalf("%s became %x, want %x, %v", text, back, thrift, err)
			}
		}
	})
}

// emptyUnion reports whether v holds a union without a field.
func emptyUnion(t *schema.Type, v *schema.Value) bool {
	for _, e := range v.List {
		if emptyUnion(t.Elem(), e) {
			return true
		}
	}
	for _, e := range v.Map {
		if emptyUnion(t.Key(), e.Key) || emptyUnion(t.Elem(), e.Value) {
			return true
		}
	}
	for _, f := range v.Fields {
		if emptyUnion(f.Field.Type(), f.Value) {
			return true
		}
	}
	return t.Kind() == schema.Struct && t.Struct().Flavor() == schema.Union && len(v.Fields) == 0
}

// differs says where got, read by encoding/json, is not the JSON of v.
func differs(t *schema.Type, v *schema.Value, got any) string {
	switch t.Kind() {
	case schema.Struct:
		return differsStruct(t, v, got)
	case schema.Map:
		return differsMap(t, v, got)
	case schema.List, schema.Set:
		list, ok := got.([]any)
		if !ok || len(list) != len(v.List) {
			return fmt.Sprintf("%v is not %s of length %d", got, t, len(v.List))
		}
		for i := range list {
			if d := differs(t.Elem(), v.List[i], list[i]); d != "" {
				return fmt.Sprintf("[%d]: %s", i, d)
			}
		}
		return ""
	}
	if want := scalar(t, v); got != want {
		return fmt.Sprintf("%#v, want %#v", got, want)
	}
	return ""
}

func differsStruct(t *schema.Type, v *schema.Value, got any) string {
	object, ok := got.(map[string]any)
	if !ok || len(object) != len(v.Fields) {
		return fmt.Sprintf("%v is not a %s with %d fields", got, t, len(v.Fields))
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

func differsMap(t *schema.Type, v *schema.Value, got any) string {
	if t.Key().Kind() >= schema.List {
		list, ok := got.([]any)
		if !ok || len(list) != len(v.Map) {
			return fmt.Sprintf("%v is not %s of length %d", got, t, len(v.Map))
		}
		for i, e := range v.Map {
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
	if !ok || len(object) != len(v.Map) {
		return fmt.Sprintf("%v is not %s of length %d", got, t, len(v.Map))
	}
	for _, e := range v.Map {
		key := fmt.Sprint(scalar(t.Key(), e.Key))
		if d := differs(t.Elem(), e.Value, object[key]); d != "" {
			return fmt.Sprintf("[%q]: %s", key, d)
		}
	}
	return ""
}

// scalar returns the JSON of v as encoding/json reads it.
func scalar(t *schema.Type, v *schema.Value) any {
	switch t.Kind() {
	case schema.Bool:
		return v.Bool
	case schema.Float:
		return number(json.Marshal(float32(v.Float)))
	case schema.Double:
		return number(json.Marshal(v.Float))
	case schema.Binary:
		return base64.StdEncoding.EncodeToString([]byte(v.String))
	case schema.String, schema.UUID:
		return v.String
	}
	if v.Enumerator != nil {
		return v.Enumerator.Name
	}
	return json.Number(strconv.FormatInt(v.Int, 10))
}

func number(b []byte, _ error) json.Number { return json.Number(b) }
