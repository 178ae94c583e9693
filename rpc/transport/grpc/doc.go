// Package grpc holds the parts of gRPC's wire protocol that are not HTTP/2:
// codes and statuses, the header fields with a meaning of their own, and the prefix in front of each message.
//
// A request is a POST of HTTP/2 with the content type application/grpc to the path
// /package.Service/Method; its body is a row of messages, each behind a prefix of five bytes. The answer
// is such a row too, and trailers with the status; without messages the status may stand in the header.
//
// The package knows neither a network nor package net/http: header fields are strings and bodies are readers.
// It does not compress, and must not know what a message says.
package grpc
