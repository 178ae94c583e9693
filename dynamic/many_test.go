package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

// What an earlier message left in the slice must not pass for this one's.
func TestNothingOfAnEarlierMessageStaysInTheResult(t *testing.T) {
	var fields []*schema.Field
	var paths [][]dynamic.Step
	for i := range int32(100) {
		fields = append(fields, field(i+1, "f"+string(rune('a'+i%26))+string(rune('a'+i/26)), tI32))
		paths = append(paths, []dynamic.Step{dynamic.Field(int16(i + 1))})
	}
	wide := structOf("Wide", fields...)
	for _, p := range []dynamic.Protocol{dynamic.Binary, dynamic.Compact} {
		for _, count := range []int{1, 3, 63, 64, 65, 100} {
			many, err := dynamic.CompileAll(wide.Type(), paths[:count]...)
			if err != nil {
				t.Fatal(err)
			}
			full, some := map[int16]any{}, map[int16]any{}
			for i := range int16(count) {
				if full[i+1] = i; i%3 == 1 {
					some[i+1] = i
				}
			}
			out := make([]dynamic.Value, count)
			for _, x := range []map[int16]any{full, some, {}, full} {
				b, err := p.AppendAny(nil, wide.Type(), x)
				if err != nil {
					t.Fatal(err)
				}
				if err := many.Get(p.NewValue(wide.Type(), b).Node, out); err != nil {
					t.Fatal(err)
				}
				for i, v := range out {
					n, _ := v.Int()
					if want, ok := x[int16(i+1)]; ok != v.Exists() || ok && (int16(n) != want || v.Type() != tI32) || !ok && (v.Type() != nil || v.Raw() != nil) {
						t.Fatalf("%s, %d paths: field %d is %v", p, count, i+1, v)
					}
				}
			}
			// After an error too.
			if err := many.Get(p.NewNode(dynamic.NewBool(true).WireType(), nil), out); err == nil {
				t.Error("a bool passes for a struct")
			}
			for i, v := range out {
				if v.Exists() {
					t.Fatalf("%s, %d paths: value %d stays after an error", p, count, i)
				}
			}
		}
	}
}
