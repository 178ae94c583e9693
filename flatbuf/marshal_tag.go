package flatbuf

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// This file reads struct tags.

// fieldTag is what a field's tag says.
type fieldTag struct {
	name     string
	id       int // -1 if none was given
	required bool
	fixed    bool // the option struct
	union    bool
	def      string
	hasDef   bool
	key      int // the ids of a map's keys and values in their table
	value    int
	keyed    bool // they were given
}

// parseTag reads the tag of a field; ok is false for a field without one.
func parseTag(f reflect.StructField) (t fieldTag, ok bool, err error) {
	text, ok := f.Tag.Lookup("flatbuf")
	if !ok || text == "-" {
		return t, false, nil
	}
	t = fieldTag{name: f.Name, id: -1, value: 1}
	parts := strings.Split(text, ",")
	if name := strings.TrimSpace(parts[0]); name != "" {
		t.name = name
	}
	for _, p := range parts[1:] {
		key, value, hasValue := strings.Cut(strings.TrimSpace(p), "=")
		switch {
		case (key == "id" || key == "key" || key == "value") && hasValue:
			id, err := strconv.ParseUint(value, 10, 16)
			if err != nil || id > maxSlot {
				return t, false, fmt.Errorf("invalid id %q", value)
			}
			t.setID(key, int(id))
		case key == "default" && hasValue:
			t.def, t.hasDef = value, true
		case key == "required" && !hasValue:
			t.required = true
		case key == "struct" && !hasValue:
			t.fixed = true
		case key == "union" && !hasValue:
			t.union = true
		default:
			return t, false, fmt.Errorf("invalid option %q", p)
		}
	}
	if t.fixed && t.union {
		return t, false, fmt.Errorf("a struct is no union")
	}
	return t, true, nil
}

func (t *fieldTag) setID(option string, id int) {
	switch option {
	case "id":
		t.id = id
	case "key":
		t.key, t.keyed = id, true
	case "value":
		t.value, t.keyed = id, true
	}
}

// width returns the bytes of a scalar of kind k, 0 for what is none.
func width(k reflect.Kind) uint8 {
	switch k {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		return 8
	default:
		return 0
	}
}

// defaultBits returns a default value as a scalar of that kind holds it.
func defaultBits(text string, k reflect.Kind) (uint64, error) {
	bits := 8 * int(width(k))
	var v uint64
	var err error
	switch k {
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v = uint64(bit(b))
	case reflect.Float32, reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, bits)
		v = math.Float64bits(f)
		if bits == 32 {
			v = uint64(math.Float32bits(float32(f)))
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v, err = strconv.ParseUint(text, 0, bits)
	default:
		var i int64
		i, err = strconv.ParseInt(text, 0, bits)
		v = uint64(i) & (^uint64(0) >> (64 - bits))
	}
	if err != nil {
		return 0, fmt.Errorf("invalid default %q", text)
	}
	return v, nil
}
