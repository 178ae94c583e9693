package gen

import "strings"

// An Option changes what [Go] writes. Packages that import each other must be
// generated with the same options, but for [Includes].
type Option func(*options)

type options struct {
	prefix   string
	includes bool

	thriftTags, frugalTags, jsonTags bool

	getters, setters, deepEqual bool
	enumInt32                   bool
	enumText                    bool
	structValues                bool
	keepUnknown                 bool
	pretouch                    bool
	static                      bool
	forms                       bool
	mocks                       bool

	goPackage  string // of FlatBuffers
	noServices bool

	project bool // whether the packages are below those that import them
}

func newOptions(opts []Option) options {
	o := options{includes: true, getters: true, thriftTags: true, frugalTags: true, jsonTags: true}
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

// ThriftTags tells whether fields get thrift tags (the default). Package codec
// needs these or frugal tags.
func ThriftTags(on bool) Option { return func(o *options) { o.thriftTags = on } }

// FrugalTags tells whether fields get frugal tags (the default). Without them
// the thrift tags hold the types as well.
func FrugalTags(on bool) Option { return func(o *options) { o.frugalTags = on } }

// JSONTags tells whether the fields of declared structs get json tags (the
// default). The json tag of a go.tag annotation stays either way.
func JSONTags(on bool) Option { return func(o *options) { o.jsonTags = on } }

// Getters tells whether fields get methods GetX and, where a field can be
// absent, IsSetX (the default).
func Getters(on bool) Option { return func(o *options) { o.getters = on } }

// Setters adds a method SetX for each field X.
func Setters(on bool) Option { return func(o *options) { o.setters = on } }

// DeepEqual adds a method DeepEqual to each declared struct. Structs are equal
// if their fields are; lists and sets are compared in order; an absent optional
// container differs from an empty one, while other containers and binaries may
// be nil or empty. It does not end on values that contain themselves.
func DeepEqual(on bool) Option { return func(o *options) { o.deepEqual = on } }

// EnumInt32 makes the types of enums int32, as wide as on the wire, instead of
// Kitex's int64.
func EnumInt32(on bool) Option { return func(o *options) { o.enumInt32 = on } }

// StructValues makes the structs in lists, sets and map values Go structs
// instead of pointers to them. Map keys stay pointers: Go cannot compare every
// struct.
func StructValues(on bool) Option { return func(o *options) { o.structValues = on } }

// EnumText gives enums the methods MarshalText and UnmarshalText, so that JSON
// and maps of JSON hold their names. A number without a name stays a number.
func EnumText(on bool) Option { return func(o *options) { o.enumText = on } }

// KeepUnknownFields gives declared structs the field _unknownFields, in which
// package codec keeps the fields that it does not know, and the method
// CarryingUnknownFields, which tells whether there are any.
func KeepUnknownFields(on bool) Option { return func(o *options) { o.keepUnknown = on } }

// Pretouch adds a function PretouchX for each service X, which compiles the
// codecs of its methods, and of its parent's, ahead of their first use. A client
// gains by it; NewXService has compiled what a server needs.
func Pretouch(on bool) Option { return func(o *options) { o.pretouch = on } }

// Static gives structs the methods AppendThrift, SizeThrift and
// UnmarshalThrift: specialised Go that reads and writes the binary protocol
// without unsafe, with the bytes, error codes, offsets and paths of package
// codec. They know none of codec's options: nothing is checked beyond what codec
// checks by default, and maps are written in Go's order.
func Static(on bool) Option { return func(o *options) { o.static = on } }

// Forms adds what a handler needs to serve a method by a callback or a future,
// beside or instead of the plain form: for each method X of a service S the
// interfaces SXCallback and SXFuture, of which NewSService asks the handler, and
// SXReply, by which a callback answers; and for each service UnimplementedS, to embed,
// whose methods answer that they are unknown. Services of FlatBuffers get the interfaces SXCallback
// of methods without a stream.
func Forms(on bool) Option { return func(o *options) { o.forms = on } }

// Mocks adds a package xmock below each package x that has services: for each service
// S, of Thrift or FlatBuffers, a MockS that implements it for tests by functions that the test sets, and
// records its calls.
func Mocks(on bool) Option { return func(o *options) { o.mocks = on } }

// GoPackage names the Go package of the files of FlatBuffers that name none.
func GoPackage(path string) Option {
	return func(o *options) { o.goPackage = strings.Trim(path, "/") }
}

// Services tells whether the services of FlatBuffers' files are written (the default). Without
// them the output imports package flatbuf and nothing of rpc.
func Services(on bool) Option { return func(o *options) { o.noServices = !on } }
