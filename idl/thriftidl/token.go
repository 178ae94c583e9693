package thriftidl

import "github.com/thrum-rpc/thrum/idl/internal/syntax"

type tokenKind = syntax.Kind

const (
	tokEOF    = syntax.EOF
	tokIdent  = syntax.Ident
	tokInt    = syntax.Int
	tokFloat  = syntax.Float
	tokString = syntax.String
)

type token = syntax.Token[notes]

// notes are what a token has beside.
type notes struct {
	kw keyword // of an identifier
	// Indices into lexed.docs, plus one; 0 means none.
	doc    int32 // the documentation comment in front
	inline int32 // the comment in front that documents what stands before it: ///<
}

type pos = syntax.Pos

// keyword identifies the identifiers that the grammar gives a meaning. All are
// contextual: where a name is wanted, a keyword is a name.
type keyword uint8

const (
	kwNone keyword = iota

	kwAs
	kwAsync
	kwBinary
	kwBool
	kwByte
	kwClient
	kwConst
	kwCppInclude
	kwCppType
	kwDouble
	kwEnum
	kwException
	kwExtends
	kwFalse
	kwFloat
	kwHsInclude
	kwI16
	kwI32
	kwI64
	kwI8
	kwIdempotent
	kwInclude
	kwInteraction
	kwList
	kwMap
	kwNamespace
	kwOneway
	kwOptional
	kwPackage
	kwPerforms
	kwPermanent
	kwReadonly
	kwRequired
	kwSafe
	kwSenum
	kwServer
	kwService
	kwSet
	kwSink
	kwSlist
	kwStateful
	kwStream
	kwString
	kwStruct
	kwThrows
	kwTransient
	kwTrue
	kwTypedef
	kwUnion
	kwUUID
	kwVoid
	kwXsdAll
	kwXsdAttrs
	kwXsdNillable
	kwXsdOptional
)

var keywords = map[string]keyword{
	"as": kwAs, "async": kwAsync, "binary": kwBinary, "bool": kwBool, "byte": kwByte, "client": kwClient,
	"const": kwConst, "cpp_include": kwCppInclude, "cpp_type": kwCppType, "double": kwDouble, "enum": kwEnum,
	"exception": kwException, "extends": kwExtends, "false": kwFalse, "float": kwFloat, "hs_include": kwHsInclude,
	"i16": kwI16, "i32": kwI32, "i64": kwI64, "i8": kwI8, "idempotent": kwIdempotent, "include": kwInclude,
	"interaction": kwInteraction, "list": kwList, "map": kwMap, "namespace": kwNamespace, "oneway": kwOneway,
	"optional": kwOptional, "package": kwPackage, "performs": kwPerforms, "permanent": kwPermanent,
	"readonly": kwReadonly, "required": kwRequired, "safe": kwSafe, "senum": kwSenum, "server": kwServer,
	"service": kwService, "set": kwSet, "sink": kwSink, "slist": kwSlist, "stateful": kwStateful, "stream": kwStream,
	"string": kwString, "struct": kwStruct, "throws": kwThrows, "transient": kwTransient, "true": kwTrue,
	"typedef": kwTypedef, "union": kwUnion, "uuid": kwUUID, "void": kwVoid, "xsd_all": kwXsdAll,
	"xsd_attrs": kwXsdAttrs, "xsd_nillable": kwXsdNillable, "xsd_optional": kwXsdOptional,
}

// reserved reports whether the Apache compiler refuses k as the name of a
// declaration, an enumerator or a method. (It accepts it as a field's name.)
func (k keyword) reserved() bool {
	switch k {
	case kwNone, kwAs, kwClient, kwFloat, kwHsInclude, kwIdempotent, kwInteraction, kwPackage, kwPerforms, kwPermanent,
		kwReadonly, kwSafe, kwSenum, kwServer, kwSink, kwSlist, kwStateful, kwStream, kwTransient:
		return false
	}
	return true
}

// legacyNamespaces are the statements that older compilers had for what is
// now namespace LANGUAGE.
var legacyNamespaces = map[string]string{
	"cocoa_prefix": "cocoa", "cpp_namespace": "cpp", "csharp_namespace": "csharp", "delphi_namespace": "delphi",
	"java_package": "java", "perl_package": "perl", "php_namespace": "php", "py_module": "py",
	"ruby_namespace": "rb", "smalltalk_category": "smalltalk.category", "smalltalk_prefix": "smalltalk.prefix",
	"xsd_namespace": "xsd",
}

// String returns the word.
func (k keyword) String() string {
	for word, kw := range keywords {
		if kw == k {
			return word
		}
	}
	return "name"
}
