package fbsidl

// tokenKind is the kind of a token. Punctuation is its own kind.
type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokInt
	tokFloat
	tokString
)

// token is one word of the text. Comments are no tokens; documentation comments
// hang on the token that follows them.
type token struct {
	kind tokenKind
	nl   bool // first on its line
	span pos
	// The lines of documentation in front: lexed.docs[docFrom:docTo].
	docFrom, docTo int32
}

// pos is a range of bytes of the file at hand.
type pos struct{ start, end int32 }

// The words that start a statement. None is reserved: each may be a name.
const (
	wordInclude        = "include"
	wordNativeInclude  = "native_include"
	wordNamespace      = "namespace"
	wordAttribute      = "attribute"
	wordEnum           = "enum"
	wordUnion          = "union"
	wordTable          = "table"
	wordStruct         = "struct"
	wordService        = "rpc_service"
	wordRootType       = "root_type"
	wordFileIdentifier = "file_identifier"
	wordFileExtension  = "file_extension"
)

var statementWords = []string{
	wordInclude, wordNativeInclude, wordNamespace, wordAttribute, wordEnum, wordUnion, wordTable, wordStruct, wordService,
	wordRootType, wordFileIdentifier, wordFileExtension,
}

// isDeclaration reports whether word starts a declaration with a body.
func isDeclaration(word string) bool {
	switch word {
	case wordEnum, wordUnion, wordTable, wordStruct, wordService:
		return true
	}
	return false
}

func isStatement(word string) bool {
	for _, w := range statementWords {
		if w == word {
			return true
		}
	}
	return false
}
