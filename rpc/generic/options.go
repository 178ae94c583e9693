package generic

import "github.com/thrum-rpc/thrum/transcode"

// Option changes how methods convert values.
type Option func(*options)

type options struct {
	conversion []transcode.Option
	http       []transcode.HTTPOption
}

// Conversion adds options of the conversion between JSON and Thrift. Unless
// one says otherwise, NaN and infinities are strings in JSON.
func Conversion(opts ...transcode.Option) Option {
	return func(o *options) { o.conversion = append(o.conversion, opts...) }
}

func newOptions(opts []Option) *options {
	o := &options{conversion: []transcode.Option{transcode.NonFinite(transcode.NonFiniteStrings)}}
	for _, f := range opts {
		f(o)
	}
	return o
}
