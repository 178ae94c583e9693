package gen

// The statements of AppendThriftAt and SizeThriftAt.

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
)

// AppendBody returns the statements that append the fields to b.
func (s *goStruct) AppendBody() string {
	w := &staticCode{goFile: s.goFile}
	for _, f := range s.Fields {
		cond := f.StaticIf()
		if cond != "" {
			w.printf("if %s {", cond)
		}
		w.printf("b = append(b, %s) // %d: %s", f.HeadBytes(), f.ID(), f.Field.Name())
		w.append(f.target(), f.valueType(), 1, fmt.Sprintf(".Field(%q)", f.Field.Name()))
		if cond != "" {
			w.printf("}")
		}
	}
	return w.b.String()
}

// append writes the value x of type t, k levels below the method's depth; path
// extends the path of a fault.
func (w *staticCode) append(x string, t *schema.Type, k int, path string) {
	failing := func(format string, args ...any) {
		w.printf("if b, f = "+format+"; f != nil {\nreturn b, f%s\n}", append(args, path)...)
	}
	switch t.Kind() {
	case schema.String:
		failing("%s.AppendString(b, %s)", w.StaticRT(), w.basic(x, t))
	case schema.Binary:
		failing("%s.AppendBinary(b, %s)", w.StaticRT(), x)
	case schema.Enum:
		failing("%s.AppendEnum(b, int64(%s))", w.StaticRT(), x)
	case schema.Struct:
		failing("%s.AppendThriftAt(b, depth-%d)", x, k)
	case schema.List, schema.Set:
		n := w.fresh()
		w.printf("l%d := %s", n, x)
		failing("%s.AppendList(b, %s, len(l%d), depth-%d)", w.StaticRT(), w.wireName(t.Elem()), n, k)
		w.printf("for i%[1]d := range l%[1]d {", n)
		w.append(fmt.Sprintf("l%[1]d[i%[1]d]", n), t.Elem(), k+1, fmt.Sprintf(".Index(i%d)%s", n, path))
		w.printf("}")
	case schema.Map:
		n := w.fresh()
		w.printf("m%d := %s", n, x)
		failing("%s.AppendMap(b, %s, %s, len(m%d), depth-%d)", w.StaticRT(), w.wireName(t.Key()), w.wireName(t.Elem()), n, k)
		w.printf("for k%[1]d, v%[1]d := range m%[1]d {", n)
		key := fmt.Sprintf("k%d", n)
		if t.Key().Kind() == schema.Binary {
			failing("%s.AppendString(b, %s)", w.StaticRT(), key)
		} else {
			w.append(key, t.Key(), k+1, `.Key("key")`+path)
		}
		w.append(fmt.Sprintf("v%d", n), t.Elem(), k+1, ".Key("+w.keyText(key, t.Key())+")"+path)
		w.printf("}")
	default:
		w.wireName(t)
		w.printf("b = thriftwire.Append%s(b, %s)", wireNames[t.Kind()], w.basic(x, t))
	}
}

// SizeBody returns the statements that add the sizes of the fields to n.
func (s *goStruct) SizeBody() string {
	w := &staticCode{goFile: s.goFile}
	fixed := 1 // STOP
	for _, f := range s.Fields {
		t, cond := f.valueType(), f.StaticIf()
		size := fixedSize(t)
		switch {
		case cond == "" && size > 0:
			fixed += 3 + size
			continue
		case cond == "":
			fixed += 3
		case size > 0:
			w.printf("if %s {\nn += %d\n}", cond, 3+size)
			continue
		default:
			w.printf("if %s {\nn += 3", cond)
		}
		w.size(f.target(), t, 1, fmt.Sprintf(".Field(%q)", f.Field.Name()))
		if cond != "" {
			w.printf("}")
		}
	}
	return fmt.Sprintf("n := %d\n", fixed) + w.b.String()
}

// size adds the size of x to n.
func (w *staticCode) size(x string, t *schema.Type, k int, path string) {
	switch t.Kind() {
	case schema.String, schema.Binary:
		w.printf("n += 4 + len(%s)", x)
	case schema.Struct:
		w.printf("if s, f := %s.SizeThriftAt(depth-%d); f != nil {\nreturn 0, f%s\n} else {\nn += s\n}", x, k, path)
	case schema.List, schema.Set:
		v := w.fresh()
		w.tooDeep(k, path)
		w.printf("l%d := %s", v, x)
		if size := fixedSize(t.Elem()); size > 0 {
			w.printf("n += 5 + %d*len(l%d)", size, v)
			return
		}
		w.printf("n += 5\nfor i%[1]d := range l%[1]d {", v)
		w.size(fmt.Sprintf("l%[1]d[i%[1]d]", v), t.Elem(), k+1, fmt.Sprintf(".Index(i%d)%s", v, path))
		w.printf("}")
	case schema.Map:
		w.sizeMap(x, t, k, path)
	}
}

func (w *staticCode) sizeMap(x string, t *schema.Type, k int, path string) {
	v := w.fresh()
	w.tooDeep(k, path)
	w.printf("m%d := %s", v, x)
	key, elem := fixedSize(t.Key()), fixedSize(t.Elem())
	w.printf("n += 6 + %d*len(m%d)", key+elem, v)
	switch {
	case key > 0 && elem > 0:
		return
	case key > 0 && elem == 0:
		if t.Elem().Kind() == schema.String || t.Elem().Kind() == schema.Binary {
			w.printf("for _, v%[1]d := range m%[1]d {", v)
			break
		}
		w.printf("for k%[1]d, v%[1]d := range m%[1]d {", v)
	case elem > 0:
		w.printf("for k%[1]d := range m%[1]d {", v)
	default:
		w.printf("for k%[1]d, v%[1]d := range m%[1]d {", v)
	}
	if key == 0 {
		w.size(fmt.Sprintf("k%d", v), t.Key(), k+1, `.Key("key")`+path)
	}
	if elem == 0 {
		w.size(fmt.Sprintf("v%d", v), t.Elem(), k+1, ".Key("+w.keyText(fmt.Sprintf("k%d", v), t.Key())+")"+path)
	}
	w.printf("}")
}

func (w *staticCode) tooDeep(k int, path string) {
	w.printf("if depth-%d <= 0 {\nreturn 0, %s.TooDeep(-1)%s\n}", k, w.StaticRT(), path)
}
