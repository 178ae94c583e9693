module github.com/thrum-rpc/thrum

go 1.25.0
