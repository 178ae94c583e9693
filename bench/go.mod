module github.com/thrum-rpc/thrum/bench

go 1.26

require (
	github.com/apache/thrift v0.25.0
	github.com/cloudwego/frugal v0.3.1
	github.com/cloudwego/gopkg v0.2.0
	github.com/thrum-rpc/thrum v0.0.0
)

require github.com/bytedance/gopkg v0.1.4 // indirect

replace github.com/thrum-rpc/thrum => ../
