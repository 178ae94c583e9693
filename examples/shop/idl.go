// Package shop is an example: a bookshop as a Thrift service. The .thrift files
// are its source, the generated Go beside this file is what "thrum gen" makes of
// them, and package store answers its calls from memory. "thrum demo" runs it.
package shop

import "embed"

//go:generate go run ../../cmd/thrum gen -o .. --prefix github.com/thrum-rpc/thrum/examples shop.thrift
//go:generate go run ../../cmd/thrum gen -o .. --prefix github.com/thrum-rpc/thrum/examples --includes=false parcels.thrift

//go:embed *.thrift
var idl embed.FS

// IDL returns the .thrift files by name. The caller may change the map.
func IDL() map[string][]byte {
	files := make(map[string][]byte)
	entries, _ := idl.ReadDir(".") // embedded: it cannot fail
	for _, e := range entries {
		files[e.Name()], _ = idl.ReadFile(e.Name())
	}
	return files
}
