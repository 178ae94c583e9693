package transcode

import "github.com/thrum-rpc/thrum/schema"

// Option changes what a Converter does.
type Option func(*options)

type options struct {
	maxDepth        int
	maxSize         int
	rejectUnknown   bool
	strictTypes     bool
	allowMissing    bool
	allowDuplicates bool
	writeDefaults   bool
	writeZeros      bool
	enumNumbers     bool
	int64Strings    bool
	numberStrings   bool
	looseBase64     bool
	rawBinary       bool
	lossyText       bool
	declaredNames   bool // ProtobufConverter
	pairByName      bool // Bridge
	nonFinite       NonFinitePolicy
	fieldName       func(*schema.Field) string
	anyName         bool
	codec           func(*schema.Field) ValueCodec
	emptyNumbers    bool
	unsigned8       bool
	absent          [3]bool // by schema.Requiredness
	base            bool
	mergeBase       func(dst, inJSON, given []byte) ([]byte, error)
}

// The limits of a Converter unless options say otherwise.
const (
	DefaultMaxDepth = 64
	DefaultMaxSize  = 64 << 20
)

// MaxDepth bounds the nesting of structs and containers in the input.
func MaxDepth(levels int) Option { return func(o *options) { o.maxDepth = levels } }

// MaxSize bounds the input and what one conversion appends, in bytes each. It
// is at most 2 GiB - 1, as lengths in Thrift are.
func MaxSize(bytes int) Option { return func(o *options) { o.maxSize = min(bytes, 1<<31-1) } }

// RejectUnknown makes fields that the schema does not have an error.
func RejectUnknown() Option { return func(o *options) { o.rejectUnknown = true } }

// StrictTypes makes a Thrift field whose wire type differs from the schema an
// error, where it is skipped otherwise.
func StrictTypes() Option { return func(o *options) { o.strictTypes = true } }

// AllowMissing accepts structs without their required fields.
func AllowMissing() Option { return func(o *options) { o.allowMissing = true } }

// AllowDuplicates passes map keys and set elements that stand twice, for the
// receiver to merge.
func AllowDuplicates() Option { return func(o *options) { o.allowDuplicates = true } }

// WriteDefaults writes absent fields that have a declared default with it.
func WriteDefaults() Option { return func(o *options) { o.writeDefaults = true } }

// WriteZeros writes absent fields that are not optional and have no declared
// default as zero, empty text or an empty container. Structs stay absent, and
// a missing required field is still an error unless AllowMissing is given.
func WriteZeros() Option { return func(o *options) { o.writeZeros = true } }

// FieldNames chooses the names that fields have in JSON, such as those of an
// annotation; where name returns "", a field keeps its own. Two fields of a
// struct must not get the same name. New calls it once for each field.
func FieldNames(name func(*schema.Field) string) Option {
	return func(o *options) { o.fieldName = name }
}

// AnyName reads a field under its own name too where FieldNames gives it
// another one, unless that is the name of another field.
func AnyName() Option { return func(o *options) { o.anyName = true } }

// ValueCodecs chooses how the values of fields are converted; where codec
// returns nil, as the type says. [AnnotatedCodec] is the choice that the annotations
// api.js_conv, agw.js_conv and agw.body_dynamic make. New calls it once for each field.
func ValueCodecs(codec func(*schema.Field) ValueCodec) Option {
	return func(o *options) { o.codec = codec }
}

// WriteAbsent writes absent fields of the given requirednesses: with their
// declared default, else with zero, empty text, an empty container or a struct without fields. A
// struct that has required fields itself stays absent. Required fields are then no longer missed.
func WriteAbsent(which ...schema.Requiredness) Option {
	return func(o *options) {
		for _, r := range which {
			o.absent[r] = true
		}
	}
}

// Unsigned8 maps i8 to the numbers from 0 to 255, as a byte of C or Go has
// them, where it is -128 to 127 otherwise.
func Unsigned8() Option { return func(o *options) { o.unsigned8 = true } }

// EnumNumbers writes enums to JSON as numbers. Both forms are always read.
func EnumNumbers() Option { return func(o *options) { o.enumNumbers = true } }

// Int64Strings writes i64 to JSON as strings, for readers that hold numbers as
// doubles, and reads both forms.
func Int64Strings() Option { return func(o *options) { o.int64Strings = true } }

// NumberStrings reads strings that hold a JSON number wherever a number is due.
func NumberStrings() Option { return func(o *options) { o.numberStrings = true } }

// EmptyNumbers reads "" as zero wherever NumberStrings or Int64Strings lets a
// string stand for a number.
func EmptyNumbers() Option { return func(o *options) { o.emptyNumbers = true } }

// LooseBase64 reads base64 without padding and in the URL alphabet too.
func LooseBase64() Option { return func(o *options) { o.looseBase64 = true } }

// RawBinary maps binary to JSON strings as it does string, without base64.
// Binary that is not UTF-8 is then an error, or is changed by LossyText.
func RawBinary() Option { return func(o *options) { o.rawBinary = true } }

// LossyText puts U+FFFD for what is not UTF-8 in text, where it is an error
// otherwise.
func LossyText() Option { return func(o *options) { o.lossyText = true } }

// NonFinitePolicy says what becomes of NaN and infinities, which JSON's numbers lack.
type NonFinitePolicy uint8

const (
	NonFiniteError   NonFinitePolicy = iota // refuse them
	NonFiniteStrings                        // "NaN", "Infinity", "-Infinity", both ways
	NonFiniteNull                           // write null; in a map key they are refused
)

// NonFinite chooses the policy for NaN and infinities; the default is NonFiniteError.
func NonFinite(p NonFinitePolicy) Option { return func(o *options) { o.nonFinite = p } }
