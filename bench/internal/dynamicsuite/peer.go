package dynamicsuite

import (
	"context"
	"fmt"

	"github.com/cloudwego/dynamicgo/thrift"
	"github.com/cloudwego/dynamicgo/thrift/generic"
)

// dynamicgo makes the peer's work on a shape, by name.
func dynamicgo(s *shape) (map[string]func() (op, error), error) {
	service, err := thrift.NewDescritorFromContent(context.Background(), "shapes.thrift", idl, nil, false)
	if err != nil {
		return nil, err
	}
	whole, err := argument(service, s.name)
	if err != nil {
		return nil, err
	}
	part, err := argument(service, s.name+"Part")
	if err != nil {
		return nil, err
	}
	path := make([]generic.Path, len(s.one))
	for i, p := range s.one {
		if path[i] = generic.NewPathFieldId(thrift.FieldID(p.field)); p.key != "" {
			path[i] = generic.NewPathStrKey(p.key)
		}
	}
	return map[string]func() (op, error){
		"skip": func() (op, error) {
			p := thrift.NewBinaryProtocol(s.message)
			return func() ([][]byte, error) {
				p.Read = 0
				return nil, p.SkipType(whole.Type())
			}, nil
		},
		"get-one": func() (op, error) {
			v := generic.NewValue(whole, s.message)
			var out [1][]byte
			return func() ([][]byte, error) {
				got := v.GetByPath(path...)
				out[0] = got.Raw()
				return out[:], got.Check()
			}, nil
		},
		"get-many": func() (op, error) { return peerGetMany(s, whole) },
		"set-one": func() (op, error) {
			v := generic.NewValue(whole, s.message)
			x := generic.NewValue(v.GetByPath(path...).Desc, s.value)
			var out [1][]byte
			return func() ([][]byte, error) {
				_, err := v.SetByPath(x, path...)
				out[0] = v.Raw()
				return out[:], err
			}, nil
		},
		"set-many":     func() (op, error) { return peerSetMany(s, whole) },
		"marshal-many": func() (op, error) { return peerMarshalMany(s, whole) },
		"trim": func() (op, error) {
			v, options := generic.NewValue(whole, s.message), &generic.Options{}
			var out [1][]byte
			return func() (_ [][]byte, err error) {
				out[0], err = v.MarshalTo(part, options)
				return out[:], err
			}, nil
		},
		"dom-new": func() (op, error) {
			v, options := generic.NewValue(whole, s.message), &generic.Options{}
			return func() ([][]byte, error) {
				out := []generic.PathNode{}
				return nil, v.Children(&out, true, options)
			}, nil
		},
		"dom-reuse": func() (op, error) {
			v, options := generic.NewValue(whole, s.message), &generic.Options{}
			return func() ([][]byte, error) {
				root := generic.NewPathNode()
				root.Node = v.Node
				err := root.Load(true, options)
				root.ResetAll()
				generic.FreePathNode(root)
				return nil, err
			}, nil
		},
		"dom-marshal": func() (op, error) { return peerMarshal(s, whole) },
	}, nil
}

// argument is the type of a method's argument.
func argument(service *thrift.ServiceDescriptor, name string) (*thrift.TypeDescriptor, error) {
	method, err := service.LookupFunctionByMethod(name)
	if err != nil {
		return nil, err
	}
	return method.Request().Struct().FieldById(1).Type(), nil
}

// paths are the paths of get-many, with room for what they lead to.
func (s *shape) paths() []generic.PathNode {
	var all []generic.PathNode
	for _, id := range s.many {
		all = append(all, generic.PathNode{Path: generic.NewPathFieldId(thrift.FieldID(id))})
	}
	return all
}

func peerGetMany(s *shape, whole *thrift.TypeDescriptor) (op, error) {
	v, options, paths := generic.NewValue(whole, s.message), &generic.Options{}, s.paths()
	out := make([][]byte, len(paths))
	return func() ([][]byte, error) {
		err := v.GetMany(paths, options)
		for i := range paths {
			out[i] = paths[i].Node.Raw()
		}
		return out, err
	}, nil
}

func peerSetMany(s *shape, whole *thrift.TypeDescriptor) (op, error) {
	v, options, paths := generic.NewValue(whole, s.message), &generic.Options{}, s.paths()
	if err := v.GetMany(paths, options); err != nil {
		return nil, err
	}
	var out [1][]byte
	return func() ([][]byte, error) {
		err := v.SetMany(paths, options)
		out[0] = v.Raw()
		return out[:], err
	}, nil
}

func peerMarshalMany(s *shape, whole *thrift.TypeDescriptor) (op, error) {
	v, options, paths := generic.NewValue(whole, s.message), &generic.Options{}, s.paths()
	if err := v.GetMany(paths, options); err != nil {
		return nil, err
	}
	root := generic.PathNode{Path: generic.NewPathFieldId(1), Node: v.Node, Next: paths}
	var out [1][]byte
	return func() (_ [][]byte, err error) {
		out[0], err = root.Marshal(options)
		return out[:], err
	}, nil
}

func peerMarshal(s *shape, whole *thrift.TypeDescriptor) (op, error) {
	options := &generic.Options{}
	root := generic.PathNode{Node: generic.NewValue(whole, s.message).Node}
	if err := root.Load(true, options); err != nil {
		return nil, err
	}
	exists, err := root.SetField(thrift.FieldID(s.edit), generic.NewNodeDouble(0.5), options)
	if err != nil || !exists {
		return nil, fmt.Errorf("field %d was not set: %v", s.edit, err)
	}
	var out [1][]byte
	return func() (_ [][]byte, err error) {
		out[0], err = root.Marshal(options)
		return out[:], err
	}, nil
}
