// Package transcode converts messages between JSON or HTTP and Thrift's binary
// protocol by a schema, from bytes to bytes in one pass, without Go structs and
// without a tree in between.
//
// [New] compiles the schema of a struct once into flat tables; the [Converter]
// is immutable and safe for concurrent use. [NewMethod] does the same for the arguments,
// the result and the exceptions of a method, [NewHTTP] and [NewHTTPMethod] for
// requests and replies, seen through the small interfaces [HTTPRequest] and [HTTPResponse]. The
// package knows nothing of IDL text, Go struct tags, net/http or RPC.
//
// [NewProtobuf] is New for messages of Protobuf, whose JSON is another one, and
// [NewBridge] pairs a Thrift struct with a Protobuf message; their types say what values become.
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
// # Streams
//
// [Converter.CopyJSON], [Converter.CopyThrift] and [Converter.CopyThriftAt]
// convert sequences of values, and values of any length, from a reader to a
// writer in bounded memory. They are for JSON and Thrift's binary protocol. What has other formats
// or options than a Converter is converted a value at a time, each whole in memory: messages of
// Protobuf, requests and replies, and Thrift's compact protocol, which package
// thriftwire/compact rewrites as binary.
//
// # Errors
//
// Errors are [*diag.Fault]: a code, the byte offset in the input of the value or token
// that is wrong, and the path in the value. No input panics, recurses without
// limit or allocates more than a small multiple of its length.
//
// # HTTP
//
// A field of a request stands in the parts that its annotations name, of which the first that has
// it counts: api.path, api.query, api.header, api.cookie, api.form, api.body, api.raw_body,
// api.raw_uri, in this order; see [AnnotatedParts]. Any other field is a member of the body's
// JSON object. A struct in a request some of whose fields have such annotations is a
// request struct too: its fields with annotations come from these parts, where api.body names a key
// of the body's outermost object, and the others from its own object in the body. If the
// body does not have that object, the struct is there if one of its fields is. So are the
// elements of lists and sets and the values of maps in the body; what they all ask for
// is read once. Keys of maps, and structs that stand in other parts than the body, are JSON as it stands.
//
// Outside JSON a list or set is several values of one name, or the parts of a single one between
// commas, or a JSON array; a map, struct or list of these is JSON. An empty value is an empty
// text or list, and no number unless EmptyNumbers is given.
//
// A field of a reply goes where [AnnotatedReplyParts] says: to the status, a header field, a cookie, the
// raw body, under another name or nowhere; else into the JSON of the body. What is in lists and maps
// is JSON as it stands.
//
// # Users' own annotations
//
// There is no registry: what a field means is asked of functions that options give, once per
// field when a converter is made. [FieldNames] names fields in JSON, [ValueCodecs] converts their
// values, [RequestParts], [UsualParts] and [ReplyParts] place them in HTTP messages. The functions of the
// standard annotations are exported, so that one's own can fall back on them.
//
// # The options of dynamicgo
//
//	EnableValueMapping             ValueCodecs(AnnotatedCodec); given in NewHTTP, ValueCodecs(nil) there switches it off
//	EnableHttpMapping              NewHTTP or NewHTTPMethod; RequestParts(nil) and ReplyParts(nil) switch it off
//	api.key, agw.key, go.tag …     FieldNames(AnnotatedName); given in NewHTTP
//	EnableThriftBase               Base(nil), with AppendThriftBase and AppendJSONBase
//	MergeBaseFunc                  Base(merge)
//	String2Int64                   NumberStrings, with EmptyNumbers for "" as 0
//	Int642String                   Int64Strings
//	NoBase64Binary                 RawBinary
//	ByteAsUint8                    Unsigned8, both ways
//	WriteOptionalField             WriteAbsent(schema.Optional)
//	WriteDefaultField              WriteAbsent(schema.Default)
//	WriteRequireField              WriteAbsent(schema.Required)
//	DisallowUnknownField           RejectUnknown
//	ReadHttpValueFallback          BodyFallback
//	WriteHttpValueFallback         always: a field whose annotations mean nothing in a reply is in the body
//	TracebackRequredOrRootFields   Traceback
//	OmitHttpMappingErrors          OmitMappingErrors
//	UseKitexHttpEncoding           CommaLists
//	NoCopyString                   does not apply: values are copied once, to the caller's buffer
//	ConvertException               ConvertExceptions, in NewHTTPMethod; Method returns which exception it is
//	EncodeNullJSONForInfOrNan      NonFinite(NonFiniteNull)
//	UseNativeSkip                  does not apply, and does nothing there either
//
// and those of its IDL parser:
//
//	MapFieldWay                    FieldNames (alias), none (name), FieldNames with AnyName (both)
//	ParseServiceMode, ServiceName  the caller chooses among File.Services, or joins them by schema.CombineServices
//	ParseFunctionMode              does not apply: NewMethod compiles what the caller names
//	ParseEnumAsInt64               thriftidl.EnumsAsI64
//	UseDefaultValue                WriteAbsent and WriteDefaults write declared defaults
//	SetOptionalBitmap              WriteAbsent(schema.Optional) alone is enough
//	EnableThriftBase               Base
//	ApiBodyFastPath                always: a key of the body is a member of its object, read in the one pass
//	PutNameSpaceToAnnotation       does not apply: StructDef.File has the namespaces
//	PutThriftFilenameToAnnotation  does not apply: StructDef.File has the path
//	ForceHashMapAsFieldNameMap     does not apply
package transcode
