package fbs

// Services.

import "github.com/thrum-rpc/thrum/schema"

// service is an rpc_service.
type service struct {
	*unit
	*schema.Service
	Name string
}

func (s *service) derive() { s.Name = s.Service.Name() }

// messages returns the tables that methods take and return.
func (s *service) messages() (list []*message) {
	for _, m := range s.Service.Methods() {
		list = append(list, s.generator.messages[m.Args().Fields()[0].Type().Struct()], s.generator.messages[m.Returns().Struct()])
	}
	return list
}
