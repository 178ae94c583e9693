package gen

import "strings"

// An Option changes what [Go] writes.
type Option func(*options)

type options struct {
	prefix   string
	rpcPath  string
	includes bool
	json     bool
}

func newOptions(opts []Option) options {
	o := options{rpcPath: "github.com/thrum-rpc/thrum/rpc", includes: true, json: true}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// ImportPrefix is the import path of the directory that the files are written
// to. The package of "namespace go a.b" is then imported as prefix + "/a/b".
// The default is no prefix, which suits a module whose path is the namespace's.
func ImportPrefix(path string) Option {
	return func(o *options) { o.prefix = strings.Trim(path, "/") }
}

// Includes tells whether the included files are generated as well (the
// default) or only imported.
func Includes(on bool) Option { return func(o *options) { o.includes = on } }

// JSONTags tells whether the fields of declared structs get json tags (the
// default).
func JSONTags(on bool) Option { return func(o *options) { o.json = on } }
