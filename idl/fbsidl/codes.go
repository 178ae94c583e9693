package fbsidl

// The codes of all diagnostics. They are stable: tools may compare them, so a
// code is never given another meaning.
const (
	// Files.
	codeFileUnreadable  = "file-unreadable"
	codeFileTooLarge    = "file-too-large"
	codeEmptyFile       = "empty-file"
	codeIncludeNotFound = "include-not-found"
	codeIncludeCycle    = "include-cycle" // warning
	codeIncludeDepth    = "include-depth"
	codeLateInclude     = "late-include"
	codeBinary          = "binary-schema"

	// Text.
	codeSyntax              = "syntax"
	codeBadCharacter        = "bad-character"
	codeUnterminatedString  = "unterminated-string"
	codeUnterminatedComment = "unterminated-comment"
	codeMisplacedDoc        = "misplaced-doc"
	codeBadEscape           = "bad-escape"
	codeInvalidUTF8         = "invalid-utf8"
	codeNameTooLong         = "name-too-long"
	codeBadNumber           = "bad-number"
	codeMissingBrace        = "missing-brace"
	codeNestingDepth        = "nesting-depth"
	codeData                = "data-in-schema"
	codeNamespaceDepth      = "namespace-depth"

	// Names.
	codeDuplicateName       = "duplicate-name"
	codeDuplicateField      = "duplicate-field"
	codeDuplicateEnumerator = "duplicate-enumerator"
	codeDuplicateEnumValue  = "duplicate-enum-value"
	codeDuplicateMethod     = "duplicate-method"
	codeUnknownType         = "unknown-type"
	codeUnknownEnumerator   = "unknown-enumerator"
	codeFieldNamedAsType    = "field-named-as-type"
	codeNameClash           = "name-clash"
	codeOtherNamespace      = "other-namespace" // warning
	codeForwardName         = "forward-name"    // warning

	// Types.
	codeNestedVector    = "nested-vector"
	codeArrayLength     = "array-length"
	codeArrayInTable    = "array-in-table"
	codeStructField     = "struct-field"
	codeIncompleteType  = "incomplete-type"
	codeEmptyStruct     = "empty-struct"
	codeStructTooLarge  = "struct-too-large"
	codeTooManyFields   = "too-many-fields"
	codeMissingBaseType = "missing-base-type"
	codeBadBaseType     = "bad-base-type"
	codeUnionMember     = "union-member"

	// Values.
	codeTypeMismatch   = "type-mismatch"
	codeOutOfRange     = "out-of-range"
	codeEnumDefault    = "enum-default"
	codeNullEnumerator = "null-enumerator"
	codeStructDefault  = "struct-default"
	codeVectorDefault  = "vector-default"
	codeBoolNumber     = "bool-number"    // warning
	codeInfiniteFloat  = "infinite-float" // warning
	codeZeroString     = "zero-string"    // warning
	codeBitFlags       = "bit-flags"
	codeSignedFlags    = "signed-flags" // warning

	// Attributes.
	codeUnknownAttribute   = "unknown-attribute"
	codeDuplicateAttribute = "duplicate-attribute" // warning
	codeAttribute          = "attribute"
	codeFieldID            = "field-id"
	codeForceAlign         = "force-align"
	codeKey                = "key"
	codeGoPackage          = "go-package"

	// Files and services.
	codeRootType       = "root-type"
	codeFileIdentifier = "file-identifier"
	codeMethodType     = "method-type"
	codeStreaming      = "streaming"
)

// Limits, so that no input can exhaust the stack or memory. They are far above
// what people write.
const (
	maxNameLength    = 1024  // bytes of a name, dots included
	maxNamespaceSize = 32    // parts of a namespace
	maxIncludeDepth  = 128   // files from the first to the innermost include
	maxValueDepth    = 64    // functions within each other
	maxStructSize    = 65535 // bytes of a struct: offsets in it have 16 bits
	maxFields        = 32765 // slots of a table: the size of its vtable has 16 bits
)
