package gateway

import (
	"net/http"
	"time"

	"github.com/thrum-rpc/thrum/transcode"
)

// Option changes what a Gateway does.
type Option func(*options)

type options struct {
	maxBody     int64
	maxURI      int
	maxHeader   int
	timeout     time.Duration
	multiplexed bool
	page        []byte // for browsers; nil for none
	pagePolicy  string
	report      func(r *http.Request, status int, err error)
	tell        bool
	conversion  []transcode.Option
	mapping     []transcode.HTTPOption
}

// The limits of a Gateway unless options say otherwise.
const (
	DefaultMaxBody   = 4 << 20
	DefaultMaxURI    = 8 << 10
	DefaultMaxHeader = 32 << 10
	DefaultTimeout   = 30 * time.Second
)

func defaults() options {
	return options{
		maxBody: DefaultMaxBody, maxURI: DefaultMaxURI, maxHeader: DefaultMaxHeader, timeout: DefaultTimeout,
		report: func(*http.Request, int, error) {},
	}
}

// MaxBody bounds a request's body, in bytes; a larger one is refused with 413.
func MaxBody(bytes int64) Option { return func(o *options) { o.maxBody = bytes } }

// MaxURI bounds a request's path and query, in bytes; a longer one is refused with 414.
func MaxURI(bytes int) Option { return func(o *options) { o.maxURI = bytes } }

// MaxHeader bounds the names and values of a request's header fields, in
// bytes; more are refused with 431. http.Server has a limit of its own.
func MaxHeader(bytes int) Option { return func(o *options) { o.maxHeader = bytes } }

// Timeout bounds a call of the backend, which is answered with 504 then. Zero
// leaves only the request's own context.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// Multiplexed makes calls name their service, as Apache's TMultiplexedProtocol
// does.
func Multiplexed() Option {
	return func(o *options) { o.multiplexed = true }
}

// Report is called with every error that a request ends with and the status that
// answered it. It may be called from several goroutines at once.
func Report(f func(r *http.Request, status int, err error)) Option {
	return func(o *options) { o.report = f }
}

// TellErrors passes the text of errors that a method does not declare, which
// may hold what is nobody else's business, on to the client. Without it only
// Report sees them.
func TellErrors() Option { return func(o *options) { o.tell = true } }

// Conversion adds options of the conversion between JSON and Thrift.
func Conversion(opts ...transcode.Option) Option {
	return func(o *options) { o.conversion = append(o.conversion, opts...) }
}

// Mapping adds options of the conversion between HTTP and Thrift. Where fields
// of a request come from is the gateway's; see the package's documentation.
func Mapping(opts ...transcode.HTTPOption) Option {
	return func(o *options) { o.mapping = append(o.mapping, opts...) }
}
