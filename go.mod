module github.com/thrum-rpc/thrum

go 1.25.0

require (
	github.com/apache/thrift v0.24.0
	github.com/bufbuild/protocompile v0.14.1
	github.com/klauspost/compress v1.20.3
	golang.org/x/arch v0.30.0
	google.golang.org/protobuf v1.36.11
	pgregory.net/rapid v1.3.0
)

require golang.org/x/sync v0.8.0 // indirect
