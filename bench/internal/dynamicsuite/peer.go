package dynamicsuite

import (
	"context"
	"fmt"

	"github.com/cloudwego/dynamicgo/thrift"
	"github.com/cloudwego/dynamicgo/thrift/generic"

	"github.com/thrum-rpc/thrum/bench/idl"
)

// service lets dynamicgo reach types, which it does through the one argument
// of a method.
const service = `
service Messages {
	void small(1: Simple whole)
	void smallPart(1: PartialSimple part)
	void medium(1: Nesting whole)
	void mediumPart(1: PartialNesting part)
	void large(1: Batch whole)
	void largePart(1: PartialBatch part)
	void deep(1: Deep whole)
	void deepPart(1: PartialDeep part)
}
`

// peer is what dynamicgo compiles ahead for a shape.
type peer struct {
	*shape
	t           *tools
	whole, part *thrift.TypeDescriptor
	path        []generic.Path
}

// dynamicgo makes the peer's work on a shape.
func dynamicgo(s *shape) (contender, error) {
	d, err := thrift.NewDescritorFromContent(context.Background(), "dynamic.thrift", string(idl.Dynamic)+service, nil, false)
	if err != nil {
		return contender{}, err
	}
	p := peer{shape: s, path: make([]generic.Path, len(s.one))}
	if p.whole, err = argument(d, s.name); err != nil {
		return contender{}, err
	}
	if p.part, err = argument(d, s.name+"Part"); err != nil {
		return contender{}, err
	}
	if p.t, err = newTools(s); err != nil {
		return contender{}, err
	}
	for i, step := range s.one {
		if p.path[i] = generic.NewPathFieldId(thrift.FieldID(step.field)); step.key != "" {
			p.path[i] = generic.NewPathStrKey(step.key)
		}
	}
	jobs := map[string]func() (job, error){
		"skip": p.skip, "get-one": p.getOne, "get-many": p.getMany, "set-one": p.setOne, "set-many": p.setMany,
		"marshal-many": p.marshalMany, "trim": p.trim, "dom-new": p.domNew, "dom-reuse": p.domReuse, "dom-marshal": p.domMarshal,
	}
	if s.list != 0 {
		jobs["filter-list"] = p.filterList
	}
	return contender{"dynamicgo", jobs}, nil
}

// argument is the type of a method's argument.
func argument(service *thrift.ServiceDescriptor, name string) (*thrift.TypeDescriptor, error) {
	method, err := service.LookupFunctionByMethod(name)
	if err != nil {
		return nil, err
	}
	return method.Request().Struct().FieldById(1).Type(), nil
}

// value is the message with its type.
func (p *peer) value() generic.Value { return generic.NewValue(p.whole, p.message) }

// nodes are the paths of get-many, with room for what they lead to.
func (p *peer) nodes() []generic.PathNode {
	var all []generic.PathNode
	for _, id := range p.many {
		all = append(all, generic.PathNode{Path: generic.NewPathFieldId(thrift.FieldID(id))})
	}
	return all
}

func (p *peer) skip() (job, error) {
	r := thrift.NewBinaryProtocol(p.message)
	return job{run: func() error {
		r.Read = 0
		return r.SkipType(p.whole.Type())
	}}, nil
}

func (p *peer) getOne() (job, error) {
	v := p.value()
	return bytesJob(func() ([]byte, error) {
		got := v.GetByPath(p.path...)
		return got.Raw(), got.Check()
	}), nil
}

func (p *peer) getMany() (job, error) {
	v, options, paths := p.value(), &generic.Options{}, p.nodes()
	return job{
		run: func() error { return v.GetMany(paths, options) },
		result: func() ([][]byte, error) {
			return p.t.assemble(func(i int) []byte { return paths[i].Node.Raw() })
		},
	}, nil
}

func (p *peer) setOne() (job, error) {
	v := p.value()
	x := generic.NewValue(v.GetByPath(p.path...).Desc, p.shape.value)
	return bytesJob(func() ([]byte, error) {
		_, err := v.SetByPath(x, p.path...)
		return v.Raw(), err
	}), nil
}

func (p *peer) setMany() (job, error) {
	v, options, paths := p.value(), &generic.Options{}, p.nodes()
	if err := v.GetMany(paths, options); err != nil {
		return job{}, err
	}
	return bytesJob(func() ([]byte, error) {
		err := v.SetMany(paths, options)
		return v.Raw(), err
	}), nil
}

func (p *peer) marshalMany() (job, error) {
	v, options, paths := p.value(), &generic.Options{}, p.nodes()
	if err := v.GetMany(paths, options); err != nil {
		return job{}, err
	}
	root := generic.PathNode{Path: generic.NewPathFieldId(1), Node: v.Node, Next: paths}
	return bytesJob(func() ([]byte, error) { return root.Marshal(options) }), nil
}

func (p *peer) trim() (job, error) {
	v, options := p.value(), &generic.Options{}
	return bytesJob(func() ([]byte, error) { return v.MarshalTo(p.part, options) }), nil
}

// filterList takes the rows apart one level deep, and puts a list of those
// that may stay in their place.
func (p *peer) filterList() (job, error) {
	options := &generic.Options{}
	var list, kept []generic.PathNode
	var failed error
	rewrite := func(rows generic.Node) generic.Node {
		if failed = rows.Children(&list, false, options); failed != nil {
			return rows
		}
		kept = kept[:0]
		for i := range list {
			n, err := list[i].Node.Field(ruled).Int()
			if err != nil {
				failed = err
			}
			if rule(int64(n)) {
				kept = append(kept, list[i])
			}
		}
		out, err := generic.PathNode{Node: rows, Next: kept}.Marshal(options)
		if err != nil {
			failed = err
		}
		return generic.NewNode(thrift.LIST, out)
	}
	path := generic.NewPathFieldId(thrift.FieldID(p.list))
	return bytesJob(func() ([]byte, error) {
		n := p.value().Node
		_, err := n.ReplaceByPath(rewrite, path)
		if err == nil {
			err = failed
		}
		return n.Raw(), err
	}), nil
}

func (p *peer) domNew() (job, error) {
	v, options := p.value(), &generic.Options{}
	return job{run: func() error {
		out := []generic.PathNode{}
		return v.Children(&out, true, options)
	}}, nil
}

func (p *peer) domReuse() (job, error) {
	v, options := p.value(), &generic.Options{}
	return job{run: func() error {
		root := generic.NewPathNode()
		root.Node = v.Node
		err := root.Load(true, options)
		root.ResetAll()
		generic.FreePathNode(root)
		return err
	}}, nil
}

func (p *peer) domMarshal() (job, error) {
	options := &generic.Options{}
	root := generic.PathNode{Node: p.value().Node}
	if err := root.Load(true, options); err != nil {
		return job{}, err
	}
	exists, err := root.SetField(thrift.FieldID(p.edit), generic.NewNodeDouble(0.5), options)
	if err != nil || !exists {
		return job{}, fmt.Errorf("field %d was not set: %v", p.edit, err)
	}
	return bytesJob(func() ([]byte, error) { return root.Marshal(options) }), nil
}
