package transcode

import "github.com/thrum-rpc/thrum/schema"

// HTTPOption changes what an HTTPConverter or HTTPMethod does. Every [Option]
// is one.
type HTTPOption interface{ applyHTTP(*httpOptions) }

func (o Option) applyHTTP(h *httpOptions) { o(&h.options) }

type httpOption func(*httpOptions)

func (o httpOption) applyHTTP(h *httpOptions) { o(h) }

type httpOptions struct {
	options
	requestParts      func(*schema.Field) []Part
	usualParts        func(*schema.Field) []Part
	replyParts        func(*schema.Field) []Part
	bodyFallback      bool
	traceback         bool
	omitErrors        bool
	emptyAbsent       bool
	convertExceptions bool
	commaLists        bool
}

// RequestParts chooses where fields of requests are looked for: in each part
// in turn, until one has the field. Where parts returns nil, it is a member of the
// body's JSON. The default is [AnnotatedParts], which a function for more annotations may call.
func RequestParts(parts func(*schema.Field) []Part) HTTPOption {
	return httpOption(func(h *httpOptions) { h.requestParts = parts })
}

// UsualParts chooses where the fields of request structs are looked for that
// RequestParts says nothing about. Where parts returns nil, that is the body's JSON.
func UsualParts(parts func(*schema.Field) []Part) HTTPOption {
	return httpOption(func(h *httpOptions) { h.usualParts = parts })
}

// ReplyParts chooses where fields of replies are put: into the first part that
// replies have, else into the body's JSON. The default is [AnnotatedReplyParts].
func ReplyParts(parts func(*schema.Field) []Part) HTTPOption {
	return httpOption(func(h *httpOptions) { h.replyParts = parts })
}

// BodyFallback looks for fields that stand in other parts in the body's JSON
// too, after these: in the object of their struct, by their names in JSON.
func BodyFallback() HTTPOption { return httpOption(func(h *httpOptions) { h.bodyFallback = true }) }

// Traceback looks for fields that the body lacks in path, query, header and
// cookies, in this order and by their names in JSON: those of the request
// struct itself, and required ones of structs in it.
func Traceback() HTTPOption { return httpOption(func(h *httpOptions) { h.traceback = true }) }

// OmitMappingErrors lets a value of a request that cannot be converted, outside JSON
// bodies, count as absent, so that the next part is tried; and leaves out values that
// a reply's header, cookies or status cannot hold. Both are errors otherwise.
func OmitMappingErrors() HTTPOption { return httpOption(func(h *httpOptions) { h.omitErrors = true }) }

// EmptyAbsent lets empty values outside JSON bodies count as absent.
func EmptyAbsent() HTTPOption { return httpOption(func(h *httpOptions) { h.emptyAbsent = true }) }

// ConvertExceptions makes replies of declared exceptions, which are errors
// otherwise: as results, with the status that [ExceptionStatus] returns.
func ConvertExceptions() HTTPOption {
	return httpOption(func(h *httpOptions) { h.convertExceptions = true })
}

// CommaLists writes lists and sets without containers or structs in them to
// headers and cookies as their elements with commas between, where they are JSON otherwise.
func CommaLists() HTTPOption { return httpOption(func(h *httpOptions) { h.commaLists = true }) }
