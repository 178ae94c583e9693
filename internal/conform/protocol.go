package conform

import (
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// Protocol is one of the wire formats that a case has bytes for.
type Protocol uint8

const (
	Binary   Protocol = iota
	Apache            // compact, Apache's dialect
	FBThrift          // compact, fbthrift's dialect
)

// Protocols has all of them.
var Protocols = [...]Protocol{Binary, Apache, FBThrift}

// String returns the name of p in the corpus.
func (p Protocol) String() string { return [...]string{"binary", "apache", "fbthrift"}[p] }

// dialect returns the dialect of a compact protocol.
func (p Protocol) dialect() compact.Dialect {
	if p == FBThrift {
		return compact.FBThrift
	}
	return compact.Apache
}

// Skip skips a value of type t; see thriftwire.SkipAt.
func (p Protocol) Skip(b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	if p == Binary {
		return thriftwire.SkipAt(b, pos, t, depth)
	}
	return p.dialect().SkipAt(b, pos, t, depth)
}

// Wire returns the wire type of a schema type.
func Wire(t *schema.Type) thriftwire.Type {
	return [...]thriftwire.Type{
		schema.Bool: thriftwire.Bool, schema.I8: thriftwire.I8, schema.I16: thriftwire.I16, schema.I32: thriftwire.I32,
		schema.I64: thriftwire.I64, schema.Float: thriftwire.Float, schema.Double: thriftwire.Double,
		schema.String: thriftwire.String, schema.Binary: thriftwire.String, schema.UUID: thriftwire.UUID,
		schema.Enum: thriftwire.I32, schema.List: thriftwire.List, schema.Set: thriftwire.Set,
		schema.Map: thriftwire.Map, schema.Struct: thriftwire.Struct,
	}[t.Kind()]
}
