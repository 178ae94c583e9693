module github.com/thrum-rpc/thrum

go 1.25.0

require (
	github.com/apache/thrift v0.24.0
	google.golang.org/protobuf v1.36.11
	pgregory.net/rapid v1.3.0
)
