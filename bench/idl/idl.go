// Package idl holds the IDL of suites that compile it at run time.
package idl

import _ "embed"

// Dynamic is dynamic.thrift.
//
//go:embed dynamic.thrift
var Dynamic []byte

// Transcode is transcode.thrift.
//
//go:embed transcode.thrift
var Transcode []byte

// HTTP is http.thrift.
//
//go:embed http.thrift
var HTTP []byte

// TranscodeProto is transcode.proto.
//
//go:embed transcode.proto
var TranscodeProto []byte

// RPC is rpc.thrift.
//
//go:embed rpc.thrift
var RPC []byte
