package fbsidl

// The slots of the tables of reflection.fbs, which says what a binary schema is.

const binaryIdentifier = "BFBS"

const ( // Schema
	schemaObjects = iota
	schemaEnums
	schemaIdent
	schemaExt
	schemaRoot
	schemaServices
	schemaFeatures
	schemaFiles
)

const ( // Object
	objectName = iota
	objectFields
	objectIsStruct
	objectMinAlign
	objectByteSize
	objectAttributes
	objectDoc
	objectFile
)

const ( // Field
	fieldName = iota
	fieldType
	fieldID
	fieldOffset
	fieldDefaultInteger
	fieldDefaultReal
	fieldDeprecated
	fieldRequired
	fieldKey
	fieldAttributes
	fieldDoc
	fieldOptional
	fieldPadding
	fieldOffset64
)

const ( // Type
	typeBase = iota
	typeElement
	typeIndex
	typeLength
	typeBaseSize
	typeElementSize
)

const ( // Enum
	enumName = iota
	enumValues
	enumIsUnion
	enumUnderlying
	enumAttributes
	enumDoc
	enumFile
)

const ( // EnumVal; slot 2 is deprecated
	valName       = 0
	valValue      = 1
	valType       = 3
	valDoc        = 4
	valAttributes = 5
)

const ( // Service
	serviceName = iota
	serviceCalls
	serviceAttributes
	serviceDoc
	serviceFile
)

const ( // RPCCall
	callName = iota
	callRequest
	callResponse
	callAttributes
	callDoc
)

const ( // KeyValue
	pairKey = iota
	pairValue
)

const ( // SchemaFile
	fileName = iota
	fileIncludes
)

// The bits of Schema.advanced_features.
const (
	featureArrays = 1 << iota
	featureUnions
	featureOptionalScalars
	featureDefaults
)
