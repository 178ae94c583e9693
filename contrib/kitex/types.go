package kitex

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudwego/gopkg/bufiox"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/gopkg/protocol/thrift/apache"

	"github.com/thrum-rpc/thrum/codec"
)

// This file decides which types are ours.

// verdict is what is known of the type of a message's data.
type verdict struct {
	problem error // why Thrum cannot take it; nil if it can
	kitex   bool  // whether Kitex's own codec can
	aliases bool  // whether a decoded value may point into the input
}

// verdict returns the verdict on the type of data, which is made once for
// each.
func (c *payloadCodec) verdict(data any) *verdict {
	t := reflect.TypeOf(data)
	if v, ok := c.types.Load(t); ok {
		return v.(*verdict)
	}
	v, _ := c.types.LoadOrStore(t, c.judge(data, t))
	return v.(*verdict)
}

// genericWriter and genericReader are what Kitex's generic calls bring instead
// of structs.
type (
	genericWriter interface {
		Write(ctx context.Context, method string, w bufiox.Writer) error
	}
	genericReader interface {
		Read(ctx context.Context, method string, dataLen int, r bufiox.Reader) error
	}
)

func (c *payloadCodec) judge(data any, t reflect.Type) *verdict {
	if c.structs.Protocol() != codec.Binary {
		return &verdict{problem: errors.New("messages of Kitex are in the binary protocol, that of the given codec is another")}
	}
	_, fast := data.(thrift.FastCodec)
	_, writes := data.(genericWriter)
	_, reads := data.(genericReader)
	if writes || reads {
		return &verdict{problem: errors.New("generic calls are Kitex's"), kitex: true}
	}
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return &verdict{problem: errors.New("not a pointer to a struct"), kitex: true}
	}
	t = t.Elem()
	v := &verdict{kitex: fast || hasFrugalTag(t) || apache.CheckTStruct(data) == nil}
	w := walk{seen: make(map[reflect.Type]bool)}
	if v.problem = w.structure(t); v.problem == nil {
		v.aliases, v.problem = c.structs.Aliases(t)
	}
	return v
}

// hasFrugalTag reports whether Kitex gives structs of type t to Frugal when
// they have no generated code.
func hasFrugalTag(t reflect.Type) bool {
	if t.NumField() == 0 {
		return true
	}
	first := t.Field(0)
	return first.Tag.Get("frugal") != "" || t.NumField() == 1 && first.Name == "_unknownFields"
}

// walk looks for what tags leave open, in all structs that a type reaches. The codec
// would read an enum without a type in its tag as an i64, and a
// struct without tags as an empty one; users of the codec mean that, but structs
// generated for others do not.
type walk struct {
	seen map[reflect.Type]bool
}

func (w *walk) structure(t reflect.Type) error {
	if w.seen[t] {
		return nil
	}
	w.seen[t] = true
	tagged := false
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_unknownFields" {
			tagged = true
			if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Uint8 {
				return fmt.Errorf("%s keeps unknown fields in a %s", t, f.Type)
			}
		}
		text, ok := typeText(f.Tag)
		if !ok || !f.IsExported() || f.Anonymous {
			continue
		}
		tagged = true
		if err := w.value(f.Type, text); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	if !tagged && t.NumField() > 0 {
		return fmt.Errorf("%s has no tagged fields", t)
	}
	return nil
}

// value looks at a type that a field holds; text is what the tag says of it.
func (w *walk) value(t reflect.Type, text string) error {
	switch t.Kind() {
	case reflect.Int64, reflect.Int32:
		if text == "" && t.PkgPath() != "" {
			return fmt.Errorf("the tag does not say whether %s is an enum", t)
		}
	case reflect.Pointer, reflect.Slice:
		return w.value(t.Elem(), text)
	case reflect.Map:
		if err := w.value(t.Key(), text); err != nil {
			return err
		}
		return w.value(t.Elem(), text)
	case reflect.Struct:
		return w.structure(t)
	}
	return nil
}

// typeText returns what a field's tags say of its type, "" for nothing.
func typeText(tag reflect.StructTag) (text string, ok bool) {
	s, ok := tag.Lookup("frugal")
	if !ok {
		if s, ok = tag.Lookup("thrift"); !ok {
			return "", false
		}
		_, s, _ = strings.Cut(s, ",")
	}
	if parts := strings.SplitN(s, ",", 3); len(parts) == 3 {
		text = strings.TrimSpace(parts[2])
	}
	return text, true
}
