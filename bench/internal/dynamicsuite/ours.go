package dynamicsuite

import (
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// maxDepth is the depth that skipping follows; dynamicgo's is 1023.
const maxDepth = 1023

// tools are what our side compiles ahead for a shape.
type tools struct {
	*shape
	v          dynamic.Value
	path       *dynamic.Path
	paths      *dynamic.Paths
	trimmer    *dynamic.Trimmer
	rows, mark *dynamic.Path // the list that is filtered, and what the rule looks at in a row
}

func newTools(s *shape) (*tools, error) {
	t := &tools{shape: s, v: dynamic.NewValue(s.whole, s.message)}
	path := make([]dynamic.Step, len(s.one))
	for i, p := range s.one {
		if path[i] = dynamic.Field(p.field); p.key != "" {
			path[i] = dynamic.Key(p.key)
		}
	}
	var err error
	if t.path, err = dynamic.Compile(s.whole, path...); err != nil {
		return nil, err
	}
	var paths [][]dynamic.Step
	for _, id := range s.many {
		paths = append(paths, []dynamic.Step{dynamic.Field(id)})
	}
	if t.paths, err = dynamic.CompileAll(s.whole, paths...); err != nil {
		return nil, err
	}
	if t.trimmer, err = dynamic.NewTrimmer(s.whole, s.part); err != nil {
		return nil, err
	}
	if s.list != 0 {
		if t.rows, err = dynamic.Compile(s.whole, dynamic.Field(s.list)); err != nil {
			return nil, err
		}
		if t.mark, err = dynamic.Compile(t.rows.Type().Elem(), dynamic.Field(ruled)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// ours makes our side's work on a shape.
func ours(s *shape) (contender, error) {
	t, err := newTools(s)
	if err != nil {
		return contender{}, err
	}
	jobs := map[string]func() (job, error){
		"skip": func() (job, error) {
			return job{run: func() error {
				if n := thriftwire.Skip(s.message, thriftwire.Struct, maxDepth); n < 0 {
					return thriftwire.Error(n)
				}
				return nil
			}}, nil
		},
		"get-one": func() (job, error) {
			return bytesJob(func() ([]byte, error) {
				part, err := t.path.Get(t.v.Node)
				return part.Raw(), err
			}), nil
		},
		"get-many": t.getMany,
		"set-one": func() (job, error) {
			x := dynamic.NewNode(thriftwire.String, s.value)
			return s.appending(func(dst []byte) ([]byte, error) { return t.path.AppendSet(dst, t.v.Node, x) }), nil
		},
		"set-many":     func() (job, error) { return t.setMany(t.v.Node) },
		"marshal-many": func() (job, error) { return t.setMany(dynamic.NewNode(thriftwire.Struct, []byte{0})) },
		"trim": func() (job, error) {
			return s.appending(func(dst []byte) ([]byte, error) {
				out, _, err := t.trimmer.Append(dst, s.message)
				return out, err
			}), nil
		},
		"dom-new": func() (job, error) {
			return job{run: func() error {
				var tree dynamic.Tree
				return tree.Load(t.v)
			}}, nil
		},
		"dom-reuse": func() (job, error) {
			var pool dynamic.TreePool
			return job{run: func() error {
				tree := pool.Get()
				err := tree.Load(t.v)
				pool.Put(tree)
				return err
			}}, nil
		},
		"dom-marshal": func() (job, error) {
			var tree dynamic.Tree
			if err := tree.Load(t.v); err != nil {
				return job{}, err
			}
			if _, err := tree.Root().Put(dynamic.Field(s.edit), dynamic.NewDouble(0.5)); err != nil {
				return job{}, err
			}
			return s.appending(tree.Append), nil
		},
	}
	if s.list != 0 {
		jobs["filter-list"] = func() (job, error) { return t.filter(), nil }
	}
	return contender{harness.Ours, jobs}, nil
}

func (t *tools) getMany() (job, error) {
	values := make([]dynamic.Value, t.paths.Len())
	return job{
		run: func() error { return t.paths.Get(t.v.Node, values) },
		result: func() ([][]byte, error) {
			return t.assemble(func(i int) []byte { return values[i].Raw() })
		},
	}, nil
}

// assemble makes one message of the parts that paths lead to.
func (t *tools) assemble(part func(i int) []byte) ([][]byte, error) {
	var b []byte
	for i, id := range t.many {
		b = append(thriftwire.AppendField(b, dynamic.NewValue(t.paths.Type(i), nil).WireType(), id), part(i)...)
	}
	return [][]byte{thriftwire.AppendStop(b)}, nil
}

// setMany sets the parts of the message, as it has them, in a struct.
func (t *tools) setMany(in dynamic.Node) (job, error) {
	parts := make([]dynamic.Value, t.paths.Len())
	if err := t.paths.Get(t.v.Node, parts); err != nil {
		return job{}, err
	}
	nodes := make([]dynamic.Node, len(parts))
	for i := range parts {
		nodes[i] = parts[i].Node
	}
	return t.appending(func(dst []byte) ([]byte, error) { return t.paths.AppendSet(dst, in, nodes) }), nil
}

func (t *tools) filter() job {
	var failed error
	keep := func(row *dynamic.Iterator) bool {
		mark, err := t.mark.Get(row.Value().Node)
		if err != nil {
			failed = err
			return true
		}
		n, err := mark.Int()
		if err != nil {
			failed = err
		}
		return rule(n)
	}
	return t.appending(func(dst []byte) ([]byte, error) {
		out, err := t.rows.AppendFilter(dst, t.v.Node, keep)
		if err == nil {
			err = failed
		}
		return out, err
	})
}

// appending makes a job of work that appends to a buffer, which is reused.
func (s *shape) appending(run func(dst []byte) ([]byte, error)) job {
	buf := make([]byte, 0, 2*len(s.message))
	return bytesJob(func() ([]byte, error) { return run(buf) })
}
