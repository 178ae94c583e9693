package transcode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"pgregory.net/rapid"
)

// This file holds requests and replies against the conversion of JSON: a value
// is the same, wherever its fields stand.

// placed are the places that both requests and replies have, or a body.
var placed = []transcode.Place{transcode.InHeader, transcode.InCookie, transcode.InBody}

// anywhere returns a struct of random fields, each with an annotation for a place.
func anywhere(rt *rapid.T, places []transcode.Place) *schema.StructDef {
	var list []*schema.Field
	plain := conform.Struct(rt, conform.DefaultShape).Struct()
	for i, f := range plain.Fields() {
		place := rapid.SampledFrom(places).Draw(rt, "place")
		note := notes("api."+place.String(), fmt.Sprintf("Part-%d", i))
		list = append(list, schema.NewField(schema.FieldSpec{ID: f.ID(), Name: f.Name(), Type: f.Type(), Requiredness: schema.Optional, Annotations: note}))
	}
	return structOf("Anywhere", list...)
}

// kept is a reply that can be sent back as a request.
type kept struct {
	*request
	body []byte
}

func (k kept) SetStatus(int)                { panic("no field has a status") }
func (k kept) SetHeader(name, value string) { k.values["header "+name] = []string{value} }
func (k kept) SetCookie(name, value string) { k.values["cookie "+name] = []string{value} }
func (k kept) Body() []byte                 { return k.body }

func TestAReplySentBackIsTheSameValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anywhere(rt, placed)
		words := transcode.NonFinite(transcode.NonFiniteStrings)
		c, err := transcode.NewHTTP(d, words)
		if err != nil {
			rt.Fatal(err)
		}
		v := conform.Value(rt, d.Type(), 4)
		thrift := conform.Append(nil, conform.Binary, d.Type(), v)
		plain, err := transcode.New(d, words)
		if err != nil {
			rt.Fatal(err)
		}
		want, _, err := plain.AppendJSON(nil, thrift)
		if err != nil {
			rt.Skip("a union without a field")
		}
		k := kept{newRequest(""), nil}
		var raw bool
		if k.body, raw, err = c.AppendReply(nil, thrift, k); err != nil || raw {
			// Text with control characters stands in a body only.
			if strings.Contains(err.Error(), "cannot hold") {
				rt.Skip(err)
			}
			rt.Fatal(err)
		}
		back, err := c.AppendThrift(nil, k)
		if err != nil {
			if strings.Contains(err.Error(), "stands twice") {
				rt.Skip("the parts of a text between commas") // which a list of one text is not
			}
			rt.Fatalf("%s came back with %v: %q %s", want, err, k.values, k.body)
		}
		got, _, err := plain.AppendJSON(nil, back)
		if err != nil {
			rt.Fatal(err)
		}
		if model(rt, got) != model(rt, want) {
			rt.Fatalf("%s came back as %s: %q %s", want, got, k.values, k.body)
		}
	})
}

// model renders JSON with its members sorted.
func model(rt *rapid.T, text []byte) string {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		rt.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return string(out)
}

func TestAFieldIsTheSameFromEveryPart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		places := []transcode.Place{transcode.InPath, transcode.InQuery, transcode.InHeader, transcode.InCookie, transcode.InForm}
		d := anywhere(rt, append(places, transcode.InBody))
		c, err := transcode.NewHTTP(d)
		if err != nil {
			rt.Fatal(err)
		}
		plain, err := transcode.New(d)
		if err != nil {
			rt.Fatal(err)
		}
		v := conform.Value(rt, d.Type(), 4)
		want, _, err := plain.AppendJSON(nil, conform.Append(nil, conform.Binary, d.Type(), v))
		if err != nil {
			rt.Skip("a union without a field, or a number that JSON lacks")
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(want, &members); err != nil {
			rt.Fatal(err)
		}
		r := newRequest("")
		body := map[string]json.RawMessage{}
		for i, f := range d.Fields() {
			value, ok := members[f.Name()]
			if !ok {
				continue
			}
			text, name := string(value), fmt.Sprintf("Part-%d", i)
			if value[0] == '"' {
				_ = json.Unmarshal(value, &text)
			}
			place := transcode.AnnotatedParts(f)[0].Place
			if place == transcode.InBody {
				body[name] = value
				continue
			}
			r.values[place.String()+" "+name] = []string{text}
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			rt.Fatal(err)
		}
		r.body = string(encoded)
		thrift, err := c.AppendThrift(nil, r)
		if err != nil {
			rt.Fatalf("%s: %v from %q", want, err, r.values)
		}
		if got, _, err := plain.AppendJSON(nil, thrift); err != nil || model(rt, got) != model(rt, want) {
			rt.Fatalf("%s became %s, %v, from %q", want, got, err, r.values)
		}
	})
}
