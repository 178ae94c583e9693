package main

import (
	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// This file is what "thrum bench" does in one way for Thrift and in another for FlatBuffers.

// speaks returns how the calls travel.
func (f *benchFlags) speaks() (load.Form, error) {
	if !isFBS(f.idl) {
		var dialects []load.Dialect
		for i := range load.DialectNames() {
			if d := load.Dialect(i); d != load.TRPC && d != load.GRPC {
				dialects = append(dialects, d)
			}
		}
		form, err := f.form(dialects)
		form.InOrder = f.inOrder
		return form, err
	}
	if f.inOrder {
		return load.Form{}, usageError("--in-order is for services of Thrift")
	}
	if f.dialect == "" {
		f.dialect = load.TRPC.String()
	}
	dialect, err := choose("dialect", f.dialect, map[string]load.Dialect{load.TRPC.String(): load.TRPC, load.GRPC.String(): load.GRPC})
	if err != nil {
		return load.Form{}, err
	}
	compression, err := f.compression(dialect == load.GRPC)
	f.protocol = "flatbuffers"
	return load.Form{Dialect: dialect, Compression: compression}, err
}

// encoder returns how calls of a method are made of JSON.
func (f *benchFlags) encoder(service *schema.Service, def *schema.Method) (func(text []byte) (load.Request, error), error) {
	if isFBS(f.idl) {
		conv, err := flatjson.New(def.Args().Fields()[0].Type().Struct())
		path := "/" + def.Service().FullName() + "/" + def.Name()
		return func(text []byte) (load.Request, error) {
			body, err := conv.AppendMessage(nil, text)
			if err != nil {
				return load.Request{}, err
			}
			return f.config.Form.Message(path, transport.FlatBuffers, body)
		}, err
	}
	name := def.Name()
	if f.multiplexed {
		name = service.Name() + ":" + name
	}
	conv, err := transcode.NewMethod(def, transcode.RejectUnknown())
	return func(text []byte) (load.Request, error) {
		args, err := conv.AppendArgsThrift(nil, text)
		if err != nil {
			return load.Request{}, err
		}
		return f.config.Form.Request(name, args)
	}, err
}
