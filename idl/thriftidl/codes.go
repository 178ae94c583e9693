package thriftidl

// The codes of all diagnostics. They are stable: tools may compare them, so a
// code is never given another meaning.
const (
	// Files.
	codeFileUnreadable   = "file-unreadable"
	codeFileTooLarge     = "file-too-large"
	codeIncludeNotFound  = "include-not-found"
	codeIncludeCycle     = "include-cycle"
	codeIncludeDepth     = "include-depth"
	codeDuplicateInclude = "duplicate-include" // warning

	// Text.
	codeSyntax              = "syntax"
	codeBadCharacter        = "bad-character"
	codeNonASCIIName        = "non-ascii-name"
	codeUnterminatedString  = "unterminated-string"
	codeUnterminatedComment = "unterminated-comment"
	codeMultilineString     = "multiline-string" // warning
	codeBadEscape           = "bad-escape"       // warning
	codeInvalidUTF8         = "invalid-utf8"     // warning
	codeNameTooLong         = "name-too-long"
	codeBadNumber           = "bad-number"
	codeLeadingZero         = "leading-zero" // warning
	codeMissingBrace        = "missing-brace"
	codeNestingDepth        = "nesting-depth"
	codeDottedName          = "dotted-name"
	codeReservedWord        = "reserved-word"     // warning
	codeLateHeader          = "late-header"       // warning
	codeDeprecatedSyntax    = "deprecated-syntax" // warning
	codeMisplacedAnnotation = "misplaced-annotation"

	// Names.
	codeDuplicateName       = "duplicate-name"
	codeSharedName          = "shared-name"         // warning
	codeDuplicateNamespace  = "duplicate-namespace" // warning
	codeDuplicateFieldName  = "duplicate-field-name"
	codeDuplicateFieldID    = "duplicate-field-id"
	codeDuplicateEnumerator = "duplicate-enumerator"
	codeDuplicateEnumValue  = "duplicate-enum-value" // warning
	codeDuplicateMethod     = "duplicate-method"
	codeUnknownType         = "unknown-type"
	codeUnknownConstant     = "unknown-constant"
	codeUnknownService      = "unknown-service"
	codeUnknownField        = "unknown-field"
	codeUnknownAnnotation   = "unknown-annotation"     // warning
	codeAmbiguousName       = "ambiguous-name"         // warning
	codeUnqualifiedEnum     = "unqualified-enum-value" // warning

	// Types.
	codeVoidType         = "void-type"
	codeNotAType         = "not-a-type"
	codeRecursiveTypedef = "recursive-typedef"
	codeTypeTooLarge     = "type-too-large"
	codeImpossibleStruct = "impossible-struct" // warning
	codeExceptionAsType  = "exception-as-type" // warning
	codeNotAnException   = "not-an-exception"

	// Fields and enumerators.
	codeMissingFieldID     = "missing-field-id"      // warning
	codeNonPositiveFieldID = "non-positive-field-id" // warning
	codeFieldIDRange       = "field-id-range"
	codeEnumValueRange     = "enum-value-range"
	codeUnionRequiredness  = "union-requiredness" // warning
	codeUnionDefaults      = "union-defaults"
	codeArgRequiredness    = "argument-requiredness" // warning
	codeThrowsRequiredness = "throws-requiredness"   // warning

	// Values.
	codeTypeMismatch       = "type-mismatch"
	codeOutOfRange         = "out-of-range"
	codeUnknownEnumValue   = "unknown-enum-value" // warning
	codeBoolNumber         = "bool-number"        // warning
	codeDuplicateKey       = "duplicate-key"      // warning
	codeMissingRequired    = "missing-required"   // warning
	codeUnionValue         = "union-value"
	codeBareFieldName      = "bare-field-name" // warning
	codeBadUUID            = "bad-uuid"
	codeConstantCycle      = "constant-cycle"
	codeConstantTooLarge   = "constant-too-large"
	codeAnnotationMismatch = "annotation-type"

	// Services.
	codeServiceCycle  = "service-cycle"
	codeServiceDepth  = "service-depth"
	codeOnewayResult  = "oneway-result"
	codeOnewayThrows  = "oneway-throws"
	codeInteraction   = "interaction" // warning
	codeStreamElement = "stream-syntax"
	codeStreamingMode = "streaming-mode"
)

// Limits, so that no input can exhaust the stack or memory. They are far above
// what people write.
const (
	maxNameLength   = 1024    // bytes of a name
	maxIncludeDepth = 128     // files from the first to the innermost include
	maxBodyDepth    = 128     // brackets and braces within each other
	maxTypeDepth    = 64      // containers and typedefs within each other
	maxTypeSize     = 1024    // parts of a type with its typedefs expanded
	maxValueDepth   = 64      // literals and references within each other
	spareValues     = 1 << 18 // values of one Load, beside one for each byte of text
	spareKeys       = 4 << 20 // bytes of keys that are compared, beside four for each byte of text
	maxValueSize    = 1 << 20 // parts of one constant, references expanded
	maxServiceDepth = 64      // services that extend each other
)
