package dynamicsuite

import (
	"fmt"

	"github.com/thrum-rpc/thrum/bench/idl"
	"github.com/thrum-rpc/thrum/bench/internal/kitexgeneric"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the works with the maps of Kitex's generic calls: decode to a
// map[string]any, the work on it, encode.

// maps is what a shape is for Kitex: names instead of ids.
type maps struct {
	*shape
	t                *tools
	whole, part      *kitexgeneric.Type
	one              []any // names of fields and keys of maps
	many             []string
	edit, list, mark string
}

// kitexGeneric makes the works with maps. Kitex has no way to reuse one.
func kitexGeneric(s *shape) (contender, error) {
	k := &maps{shape: s}
	service, err := kitexgeneric.Load(string(idl.Dynamic) + service)
	if err != nil {
		return contender{}, err
	}
	if k.whole, err = service.Type(s.name); err != nil {
		return contender{}, err
	}
	if k.part, err = service.Type(s.name + "Part"); err != nil {
		return contender{}, err
	}
	if k.t, err = newTools(s); err != nil {
		return contender{}, err
	}
	k.names()
	jobs := map[string]func() (job, error){
		"get-one":  k.getOne,
		"get-many": k.getMany,
		"set-one": func() (job, error) {
			text := string(s.value[4:])
			return k.rewriting(k.whole, func(v map[string]any) error {
				last, err := k.find(v)
				if err == nil {
					last[k.one[len(k.one)-1].(string)] = text
				}
				return err
			}), nil
		},
		"set-many": k.setMany,
		"trim":     func() (job, error) { return k.rewriting(k.part, func(map[string]any) error { return nil }), nil },
		"dom-new":  k.decode, "dom-reuse": k.decode,
		"dom-marshal": func() (job, error) {
			v, err := k.whole.Map(s.message)
			if err != nil {
				return job{}, err
			}
			v[k.edit] = 0.5
			return s.appending(func(dst []byte) ([]byte, error) { return k.whole.AppendMap(dst, v) }), nil
		},
	}
	if s.list != 0 {
		jobs["filter-list"] = func() (job, error) { return k.rewriting(k.whole, k.filter), nil }
	}
	return contender{"kitex-generic", jobs}, nil
}

// names fills in what the ids of the shape are called.
func (k *maps) names() {
	name := func(t *schema.Type, id int16) string { return t.Struct().FieldByID(int32(id)).Name() }
	t := k.shape.whole
	for _, step := range k.shape.one {
		if step.key != "" {
			k.one, t = append(k.one, step.key), t.Elem()
			continue
		}
		k.one = append(k.one, name(t, step.field))
		t = t.Struct().FieldByID(int32(step.field)).Type()
	}
	for _, id := range k.shape.many {
		k.many = append(k.many, name(k.shape.whole, id))
	}
	k.edit = name(k.shape.whole, k.shape.edit)
	if k.shape.list != 0 {
		k.list = name(k.shape.whole, k.shape.list)
		k.mark = name(k.shape.whole.Struct().FieldByID(int32(k.shape.list)).Type().Elem(), ruled)
	}
}

// find returns the map that holds the last step of the path.
func (k *maps) find(v map[string]any) (map[string]any, error) {
	at := any(v)
	for _, step := range k.one[:len(k.one)-1] {
		switch m := at.(type) {
		case map[string]any:
			at = m[step.(string)]
		case map[any]any:
			at = m[step]
		}
	}
	last, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the path %v ends at a %T", k.one, at)
	}
	return last, nil
}

func (k *maps) getOne() (job, error) {
	var got string
	return job{
		run: func() error {
			v, err := k.whole.Map(k.message)
			if err != nil {
				return err
			}
			last, err := k.find(v)
			got, _ = last[k.one[len(k.one)-1].(string)].(string)
			return err
		},
		result: func() ([][]byte, error) { return [][]byte{thriftwire.AppendString(nil, got)}, nil },
	}, nil
}

func (k *maps) getMany() (job, error) {
	var got []any
	return job{
		run: func() error {
			v, err := k.whole.Map(k.message)
			got = got[:0]
			for _, name := range k.many {
				got = append(got, v[name])
			}
			return err
		},
		result: func() ([][]byte, error) {
			v, err := k.whole.Map(k.message)
			if err != nil {
				return nil, err
			}
			for i, name := range k.many {
				v[name] = got[i]
			}
			b, err := k.whole.AppendMap(nil, v)
			if err != nil {
				return nil, err
			}
			values := make([]dynamic.Value, k.t.paths.Len())
			if err := k.t.paths.Get(dynamic.NewNode(thriftwire.Struct, b), values); err != nil {
				return nil, err
			}
			return k.t.assemble(func(i int) []byte { return values[i].Raw() })
		},
	}, nil
}

func (k *maps) setMany() (job, error) {
	parts, err := k.whole.Map(k.message)
	return k.rewriting(k.whole, func(v map[string]any) error {
		for _, name := range k.many {
			v[name] = parts[name]
		}
		return nil
	}), err
}

func (k *maps) decode() (job, error) {
	return job{run: func() error {
		_, err := k.whole.Map(k.message)
		return err
	}}, nil
}

// rewriting decodes the message, changes it and encodes it as another type.
func (k *maps) rewriting(as *kitexgeneric.Type, change func(v map[string]any) error) job {
	return k.appending(func(dst []byte) ([]byte, error) {
		v, err := k.whole.Map(k.message)
		if err != nil {
			return nil, err
		}
		if err := change(v); err != nil {
			return nil, err
		}
		return as.AppendMap(dst, v)
	})
}

// filter leaves the rows out that break the rule.
func (k *maps) filter(v map[string]any) error {
	rows, ok := v[k.list].([]any)
	if !ok {
		return fmt.Errorf("%s is a %T", k.list, v[k.list])
	}
	kept := rows[:0]
	for _, row := range rows {
		if rule(int64(row.(map[string]any)[k.mark].(int32))) {
			kept = append(kept, row)
		}
	}
	v[k.list] = kept
	return nil
}
