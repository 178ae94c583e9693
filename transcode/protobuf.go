package transcode

import (
	"github.com/thrum-rpc/thrum/schema"
)

// ProtobufConverter converts one message type between JSON and Protobuf. It is
// safe for concurrent use.
//
// The JSON is that of Protobuf's own mapping (ProtoJSON), not the one that the
// package's other conversions write:
//
//	bool                         true, false
//	32-bit integers              number; input may be any number with an integer's value, such as 1e3,
//	                             and a string that holds one
//	64-bit integers              string; see Int64Numbers; input as above
//	float, double                number, or "NaN", "Infinity", "-Infinity"; see NonFinite; input as above
//	string                       string
//	bytes                        string in standard base64 with padding; input may be URL-safe and
//	                             unpadded; see RawBinary
//	enum                         string with the name, else number; both are read
//	message, group               object by field name
//	repeated                     array
//	map                          object; keys that are no strings as their text
//	Timestamp                    "2006-01-02T15:04:05.999Z", with 0, 3, 6 or 9 digits of a second
//	Duration                     "1.5s"
//	FieldMask                    "a,b.cD"
//	BoolValue … BytesValue       as the value in them
//	Struct, ListValue, Value     any object, array, value
//	NullValue                    null
//	Any                          Unsupported unless it is empty, since its message's schema is not known
//
// # Reading JSON
//
// A field may stand under its JSON name (the declared one, else lowerCamelCase)
// and under its name in the IDL. null stands for an absent field, but for a
// Value and NullValue, which have it as a value; it is an error in arrays and maps.
// Two members of a oneof are an error. The zero of a field without presence is
// not written. Names of extensions, in brackets, are unknown fields.
//
// # Reading Protobuf
//
// Fields may stand in any order, again and in pieces: of a singular value the
// last one counts, messages merge, lists go on, of a map key the last entry
// counts, of a oneof the last member. Lists are read packed or not. A field with another wire type
// than the schema's is unknown unless StrictTypes is given, and so is a number that a
// closed enum does not have. Zero in a field without presence
// counts as absent. Text must be UTF-8, also in proto2, as JSON's must, unless LossyText is given.
//
// # Options
//
// RejectUnknown, StrictTypes, AllowMissing, AllowDuplicates (keys of maps in
// JSON), WriteDefaults, EnumNumbers, RawBinary, LossyText, NonFinite, FieldNames, MaxDepth and
// MaxSize mean what they do for a Converter. WriteZeros writes absent
// fields without presence to JSON, lists and maps among them. Int64Numbers and DeclaredNames are for
// this converter alone. The strings of Int64Strings and NumberStrings and the
// base64 of LooseBase64 are always read, and NonFinite is NonFiniteStrings.
type ProtobufConverter struct {
	conv *Converter // its options and memory
	root *protoTable
}

// NewProtobuf compiles t, whose types are those that Protobuf has. It fails
// with code Unsupported for others.
func NewProtobuf(t *schema.StructDef, opts ...Option) (*ProtobufConverter, error) {
	o := newOptions()
	o.int64Strings, o.numberStrings, o.looseBase64, o.nonFinite = true, true, true, NonFiniteStrings
	for _, opt := range opts {
		opt(&o)
	}
	c := &ProtobufConverter{conv: newConverter(o)}
	k := newProtoCompiler(c.conv)
	var err error
	if c.root, err = k.message(t); err != nil {
		return nil, err
	}
	if err := k.absentFields(); err != nil {
		return nil, err
	}
	return c, nil
}

// Int64Numbers writes 64-bit integers of Protobuf to JSON as numbers, where
// they are strings otherwise.
func Int64Numbers() Option { return func(o *options) { o.int64Strings = false } }

// DeclaredNames writes fields of Protobuf messages under the names that they
// have in the IDL, not under those of JSON. All are read either way.
func DeclaredNames() Option { return func(o *options) { o.declaredNames = true } }
