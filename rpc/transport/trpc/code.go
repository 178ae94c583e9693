package trpc

import "strconv"

// This file holds the protocol's codes of what went wrong.

// Code is why a call or stream has failed in the framework, rather than in
// the application, which has codes of its own.
type Code int32

const (
	OK               Code = 0
	ServerDecode     Code = 1
	ServerEncode     Code = 2
	NoService        Code = 11
	NoFunc           Code = 12
	ServerTimeout    Code = 21
	ServerOverload   Code = 22
	ServerLimited    Code = 23 // by rate
	ServerFullLink   Code = 24 // the time of the whole chain of calls has passed
	ServerSystem     Code = 31
	ServerAuth       Code = 41
	ServerValidate   Code = 51
	ClientTimeout    Code = 101
	ClientFullLink   Code = 102
	ClientConnect    Code = 111
	ClientEncode     Code = 121
	ClientDecode     Code = 122
	ClientLimited    Code = 123
	ClientOverload   Code = 124
	ClientRouter     Code = 131
	ClientNetwork    Code = 141
	ClientValidate   Code = 151
	ClientCancelled  Code = 161
	ClientRead       Code = 171
	StreamNetwork    Code = 201
	StreamOverflow   Code = 211
	StreamEncode     Code = 221
	StreamDecode     Code = 222
	StreamWriteEnd   Code = 231
	StreamOverwrite  Code = 232
	StreamClosed     Code = 233
	StreamIdle       Code = 234
	StreamReadEnd    Code = 251
	StreamOverread   Code = 252
	StreamReadClosed Code = 253
	StreamReadIdle   Code = 254
	Unknown          Code = 999
)

var codeNames = map[Code]string{
	OK: "success", ServerDecode: "server cannot decode", ServerEncode: "server cannot encode",
	NoService: "no such service", NoFunc: "no such method", ServerTimeout: "server timeout",
	ServerOverload: "server overloaded", ServerLimited: "server limits the rate", ServerFullLink: "full link timeout",
	ServerSystem: "server failure", ServerAuth: "not authorized", ServerValidate: "invalid request",
	ClientTimeout: "client timeout", ClientFullLink: "full link timeout", ClientConnect: "cannot connect",
	ClientEncode: "client cannot encode", ClientDecode: "client cannot decode", ClientLimited: "client limits the rate",
	ClientOverload: "client overloaded", ClientRouter: "no route", ClientNetwork: "network failure",
	ClientValidate: "invalid reply", ClientCancelled: "cancelled", ClientRead: "cannot read a frame",
	StreamNetwork: "network failure of a stream", Unknown: "unknown error",
}

// String returns what c means, or its number.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "code " + strconv.Itoa(int(c))
}
