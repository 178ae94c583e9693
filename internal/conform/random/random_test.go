package random_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/thrum-rpc/thrum/internal/conform/random"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func TestValuesAreWholeMessagesAndRepeatable(t *testing.T) {
	kinds := map[schema.Kind]bool{}
	for seed := range uint64(500) {
		encode := func() []byte {
			r := rand.New(rand.NewPCG(seed, 1))
			d := random.Struct(r, random.Types{})
			for _, f := range d.Fields() {
				kinds[f.Type().Kind()] = true
			}
			return random.AppendBinary(nil, d.Type(), random.Value(r, d, 5))
		}
		b := encode()
		if n := thriftwire.Skip(b, thriftwire.Struct, 64); n != len(b) {
			t.Fatalf("seed %d: %d of %d bytes are a message", seed, n, len(b))
		}
		if !bytes.Equal(b, encode()) {
			t.Fatalf("seed %d gives two different messages", seed)
		}
	}
	for k := schema.Bool; k <= schema.Struct; k++ {
		if !kinds[k] {
			t.Errorf("no field of kind %s was made", k)
		}
	}
}

func TestAllowIsObeyed(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		d := random.Struct(r, random.Types{Allow: func(t *schema.Type, key bool) bool {
			return t.Kind() != schema.UUID && (!key || t.Kind() < schema.List)
		}})
		check(t, d, map[*schema.StructDef]bool{})
	}
}

func check(t *testing.T, d *schema.StructDef, seen map[*schema.StructDef]bool) {
	if seen[d] {
		return
	}
	seen[d] = true
	for _, f := range d.Fields() {
		for at := f.Type(); at != nil; at = at.Elem() {
			if at.Kind() == schema.UUID || at.Kind() == schema.Map && at.Key().Kind() >= schema.List {
				t.Fatalf("%s was made", f)
			}
			if at.Kind() == schema.Struct {
				check(t, at.Struct(), seen)
			}
		}
	}
}
