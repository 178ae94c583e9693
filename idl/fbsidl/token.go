package fbsidl

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
	docFrom, docTo int32 // the lines of documentation in front: lexed.docs[docFrom:docTo]
}

type pos = syntax.Pos

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
