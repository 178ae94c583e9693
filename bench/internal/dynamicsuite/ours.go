package dynamicsuite

import (
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// maxDepth is the depth that skipping follows; dynamicgo's is 1023.
const maxDepth = 1023

// op does a piece of work once and returns what came of it, which is valid
// until the next call.
type op func() ([][]byte, error)

// ours makes our side's work on a shape, by name.
func ours(s *shape) (map[string]func() (op, error), error) {
	path := make([]dynamic.Step, len(s.one))
	for i, p := range s.one {
		if path[i] = dynamic.Field(p.field); p.key != "" {
			path[i] = dynamic.Key(p.key)
		}
	}
	one, err := dynamic.Compile(s.whole, path...)
	if err != nil {
		return nil, err
	}
	var paths [][]dynamic.Step
	for _, id := range s.many {
		paths = append(paths, []dynamic.Step{dynamic.Field(id)})
	}
	many, err := dynamic.CompileAll(s.whole, paths...)
	if err != nil {
		return nil, err
	}
	trimmer, err := dynamic.NewTrimmer(s.whole, s.part)
	if err != nil {
		return nil, err
	}
	v := dynamic.NewValue(s.whole, s.message)
	return map[string]func() (op, error){
		"skip": func() (op, error) {
			return func() ([][]byte, error) {
				n := thriftwire.Skip(s.message, thriftwire.Struct, maxDepth)
				if n < 0 {
					return nil, thriftwire.Error(n)
				}
				return nil, nil
			}, nil
		},
		"get-one": func() (op, error) {
			var out [1][]byte
			return func() ([][]byte, error) {
				part, err := one.Get(v.Node)
				out[0] = part.Raw()
				return out[:], err
			}, nil
		},
		"get-many": func() (op, error) {
			values, out := make([]dynamic.Value, many.Len()), make([][]byte, many.Len())
			return func() ([][]byte, error) {
				err := many.Get(v.Node, values)
				for i := range values {
					out[i] = values[i].Raw()
				}
				return out, err
			}, nil
		},
		"set-one":      func() (op, error) { return appending(s, ourSetOne(s, one, v)), nil },
		"set-many":     func() (op, error) { return ourSetMany(s, many, v, v.Node) },
		"marshal-many": func() (op, error) { return ourSetMany(s, many, v, dynamic.NewNode(thriftwire.Struct, []byte{0})) },
		"trim": func() (op, error) {
			return appending(s, func(dst []byte) ([]byte, error) {
				out, _, err := trimmer.Append(dst, s.message)
				return out, err
			}), nil
		},
		"dom-new": func() (op, error) {
			return func() ([][]byte, error) {
				var tree dynamic.Tree
				return nil, tree.Load(v)
			}, nil
		},
		"dom-reuse": func() (op, error) {
			var pool dynamic.TreePool
			return func() ([][]byte, error) {
				tree := pool.Get()
				err := tree.Load(v)
				pool.Put(tree)
				return nil, err
			}, nil
		},
		"dom-marshal": func() (op, error) {
			var tree dynamic.Tree
			if err := tree.Load(v); err != nil {
				return nil, err
			}
			if _, err := tree.Root().Put(dynamic.Field(s.edit), dynamic.NewDouble(0.5)); err != nil {
				return nil, err
			}
			return appending(s, tree.Append), nil
		},
	}, nil
}

func ourSetOne(s *shape, one *dynamic.Path, v dynamic.Value) func([]byte) ([]byte, error) {
	x := dynamic.NewNode(thriftwire.String, s.value)
	return func(dst []byte) ([]byte, error) { return one.AppendSet(dst, v.Node, x) }
}

// ourSetMany sets the parts of the message, as it has them, in a struct.
func ourSetMany(s *shape, many *dynamic.Paths, v dynamic.Value, in dynamic.Node) (op, error) {
	parts := make([]dynamic.Value, many.Len())
	if err := many.Get(v.Node, parts); err != nil {
		return nil, err
	}
	nodes := make([]dynamic.Node, len(parts))
	for i := range parts {
		nodes[i] = parts[i].Node
	}
	return appending(s, func(dst []byte) ([]byte, error) { return many.AppendSet(dst, in, nodes) }), nil
}

// appending makes an op of work that appends to a buffer, which is reused.
func appending(s *shape, run func(dst []byte) ([]byte, error)) op {
	buf := make([]byte, 0, 2*len(s.message))
	var out [1][]byte
	return func() (_ [][]byte, err error) {
		out[0], err = run(buf)
		return out[:], err
	}
}
