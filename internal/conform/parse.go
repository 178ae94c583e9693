package conform

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the reading of values from text.

// Parse reads a value of type t in the notation of [Format], with white space
// and line breaks between its parts and with trailing commas as one likes.
func Parse(t *schema.Type, text string) (*schema.Value, error) {
	p := &parser{text: text}
	v, err := p.value(t)
	if err == nil && p.next() != "" {
		err = p.errorf("text after the value")
	}
	return v, err
}

type parser struct {
	text string
	pos  int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s, before %.20q", fmt.Sprintf(format, args...), p.text[p.pos:])
}

// next returns the next token without taking it, "" at the end: a quoted
// string, x'…', a word, or one other character.
func (p *parser) next() string {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	rest := p.text[p.pos:]
	if rest == "" {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && rest[0] != '\'' {
		return quoted
	}
	if strings.HasPrefix(rest, "x'") {
		if end := strings.IndexByte(rest[2:], '\''); end >= 0 {
			return rest[:2+end+1]
		}
	}
	end := strings.IndexAny(rest, " \t\r\n[]{},:\"")
	switch end {
	case -1:
		return rest
	case 0:
		return rest[:1]
	}
	return rest[:end]
}

func (p *parser) take() string {
	tok := p.next()
	p.pos += len(tok)
	return tok
}

// items calls item until the closing bracket, with commas between.
func (p *parser) items(open, end string, item func() error) error {
	if p.next() != open {
		return p.errorf("%s expected", open)
	}
	p.take()
	for p.next() != end {
		if err := item(); err != nil {
			return err
		}
		if p.next() == "," {
			p.take()
		} else if p.next() != end {
			return p.errorf("comma or %s expected", end)
		}
	}
	p.take()
	return nil
}

func (p *parser) colon() error {
	if p.next() != ":" {
		return p.errorf("colon expected")
	}
	p.take()
	return nil
}

func (p *parser) value(t *schema.Type) (*schema.Value, error) {
	switch t.Kind() {
	case schema.List, schema.Set:
		v := &schema.Value{Kind: schema.ListValue}
		return v, p.items("[", "]", func() error {
			e, err := p.value(t.Elem())
			v.List = append(v.List, e)
			return err
		})
	case schema.Map:
		v := &schema.Value{Kind: schema.MapValue}
		return v, p.items("{", "}", func() error {
			key, err := p.value(t.Key())
			if err == nil {
				err = p.colon()
			}
			if err != nil {
				return err
			}
			elem, err := p.value(t.Elem())
			v.Map = append(v.Map, schema.MapEntry{Key: key, Value: elem})
			return err
		})
	case schema.Struct:
		v := &schema.Value{Kind: schema.StructValue}
		return v, p.items("{", "}", func() error {
			f := t.Struct().FieldByName(p.next())
			if f == nil {
				return p.errorf("a field of %s expected", t)
			}
			p.take()
			if err := p.colon(); err != nil {
				return err
			}
			e, err := p.value(f.Type())
			v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: e})
			return err
		})
	default:
		v, err := scalar(t, p.next())
		if err != nil {
			return nil, p.errorf("%v", err)
		}
		p.take()
		return v, nil
	}
}

// scalar reads a value that is one token.
func scalar(t *schema.Type, tok string) (v *schema.Value, err error) {
	switch t.Kind() {
	case schema.Bool:
		v = &schema.Value{Kind: schema.BoolValue}
		v.Bool, err = strconv.ParseBool(tok)
	case schema.Float, schema.Double:
		v = &schema.Value{Kind: schema.FloatValue}
		v.Float, err = parseFloat(tok)
	case schema.String, schema.UUID:
		v = &schema.Value{Kind: schema.StringValue}
		v.String, err = strconv.Unquote(tok)
	case schema.Binary:
		v = &schema.Value{Kind: schema.StringValue}
		if len(tok) < 3 || !strings.HasPrefix(tok, "x'") {
			return nil, fmt.Errorf("binary expected, such as x'00ff'")
		}
		var b []byte
		b, err = hex.DecodeString(strings.ReplaceAll(tok[2:len(tok)-1], " ", ""))
		v.String = string(b)
	case schema.Enum:
		v = &schema.Value{Kind: schema.EnumeratorValue}
		if v.Enumerator = t.Enum().ByName(tok); v.Enumerator != nil {
			v.Int = v.Enumerator.Value
			return v, nil
		}
		v.Int, err = strconv.ParseInt(tok, 0, 32)
	default:
		bits := map[schema.Kind]int{schema.I8: 8, schema.I16: 16, schema.I32: 32, schema.I64: 64}[t.Kind()]
		v = &schema.Value{Kind: schema.IntValue}
		v.Int, err = strconv.ParseInt(tok, 0, bits)
	}
	return v, err
}

func parseFloat(tok string) (float64, error) {
	if bits, ok := strings.CutPrefix(tok, "nan("); ok {
		u, err := strconv.ParseUint(strings.TrimSuffix(bits, ")"), 16, 64)
		return math.Float64frombits(u), err
	}
	return strconv.ParseFloat(tok, 64)
}
