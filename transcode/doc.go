// Package transcode converts messages between JSON and Thrift's binary
// protocol by a schema, from bytes to bytes in one pass, without Go structs and
// without a tree in between.
//
// [New] compiles the schema of a struct once into flat tables; the [Converter]
// is immutable and safe for concurrent use. The package knows nothing of IDL
// text, Go struct tags, HTTP or RPC; the arguments and the result of a method
// are structs of the schema like any other.
//
// # The JSON of a Thrift value
//
//	bool                true, false
//	i8 … i64            number; input may be any number with an integer's value, such as 1e3
//	float, double       number, the shortest that reads back exactly; see NonFinite for NaN and infinities
//	string              string
//	binary              string in standard base64 with padding; see LooseBase64, RawBinary
//	uuid                string such as "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
//	enum                string with the name; input may be the number; see EnumNumbers
//	list, set           array
//	struct, exception   object by field name
//	union               object with one member
//	map                 object, if the key is no container or struct: the name of a member is the
//	                    key as above, a number or bool as its text;
//	                    else array of arrays [key, value]
//
// null stands for an absent field; it is an error everywhere else.
//
// # Strictness
//
// Input is checked against the schema exactly. Numbers must fit their type.
// JSON must follow RFC 8259, with nothing but white space after the value.
// A field that stands twice is an error; a map key or set element that stands twice is one unless AllowDuplicates is given.
// Two struct keys are the same if they are written the same.
// Required fields must be present unless AllowMissing is given. Unknown
// fields are skipped unless RejectUnknown is given. A Thrift field whose wire
// type differs from the schema counts as unknown unless StrictTypes is given;
// a container's element type must always agree.
//
// A union of Thrift whose only field is unknown becomes {}.
//
// # Errors
//
// Errors are [*diag.Fault]: a code, the byte offset in the input of the value or token
// that is wrong, and the path in the value. No input panics, recurses without
// limit or allocates more than a small multiple of its length.
package transcode
