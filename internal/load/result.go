package load

import (
	"fmt"
	"time"
)

// This file holds what a run found out.

// Result is what a run found out. Its JSON has stable names; durations are
// nanoseconds.
type Result struct {
	Connections int     `json:"connections"`
	Depth       int     `json:"depth"`
	Rate        float64 `json:"rate"`    // that was asked for; 0 is a closed loop
	Poisson     bool    `json:"poisson"` // of an open loop

	// Elapsed is the time that was measured. Replies are the good replies that
	// came in it, whenever their requests were sent.
	Elapsed    time.Duration `json:"elapsed_ns"`
	Replies    int64         `json:"replies"`
	Throughput float64       `json:"throughput"` // Replies per second

	BytesSent     int64 `json:"bytes_sent"` // from start to end, as the next
	BytesReceived int64 `json:"bytes_received"`

	// Latency is that of the good replies to the requests of the time that was
	// measured, in all and by kind. In a closed loop it counts from when the
	// request was sent, in an open loop from when it was to be sent.
	Latency Latency `json:"latency"`
	Kinds   []Kind  `json:"kinds"`
	// Refused is the latency of exceptions: see Exceptions.
	Refused Latency `json:"refused"`
	// Lag is how much later than intended the generator was in an open loop
	// though there was a place for the request; it is part of Latency.
	Lag Latency `json:"lag"`

	Percentiles []Percentile `json:"percentiles"` // of Latency, closer and closer to all
	Series      []Second     `json:"series"`

	// Errors counts failed requests and other failures by kind, from start to
	// end. There is no entry for what did not happen.
	Errors     map[ErrorKind]int64 `json:"errors"`
	Exceptions []Exception         `json:"exceptions"`  // of Errors[Refusal]
	Declared   int64               `json:"declared"`    // of Latency.Count, those that hold an exception of the IDL; of tRPC, an error of the application
	FirstError string              `json:"first_error"` // an example
	Reconnects int64               `json:"reconnects"`
}

// Failed returns the number of errors of all kinds.
func (r *Result) Failed() (n int64) {
	for _, c := range r.Errors {
		n += c
	}
	return n
}

// Latency sums up a histogram, whose values are exact to 0.8 % upwards.
type Latency struct {
	Count int64         `json:"count"`
	Min   time.Duration `json:"min_ns"`
	Mean  time.Duration `json:"mean_ns"`
	P50   time.Duration `json:"p50_ns"`
	P75   time.Duration `json:"p75_ns"`
	P90   time.Duration `json:"p90_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p99.9_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Kind is the part of the requests that have one Request.Kind.
type Kind struct {
	Name    string  `json:"name"`
	Latency Latency `json:"latency"`
}

// Percentile says that a share of the requests took no longer than Latency.
type Percentile struct {
	Percent float64       `json:"percent"`
	Latency time.Duration `json:"latency_ns"`
}

// Second is about a second of the time that was measured, by when replies came.
type Second struct {
	At      time.Duration `json:"at_ns"` // its end, since measuring began
	Length  time.Duration `json:"length_ns"`
	Replies int64         `json:"replies"` // good ones
	Errors  int64         `json:"errors"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Max     time.Duration `json:"max_ns"`
}

// Exception counts the replies that were one TApplicationException, or one failure of tRPC.
type Exception struct {
	Type  int32  `json:"type"` // of tRPC, the code
	Ex    string `json:"ex"`   // the value of the header ex, if there was one; of tRPC, the message
	Count int64  `json:"count"`
}

// ErrorKind is a way in which a request, or a connection, failed. In JSON it is
// the word that String returns.
type ErrorKind uint8

const (
	Timeout  ErrorKind = iota // no reply within Config.Timeout
	Reset                     // the connection broke before the reply
	Closed                    // the server closed the connection before the reply
	Lost                      // the connection was given up for another request's failure
	NoDial                    // a connection could not be made again
	Garbage                   // bytes that are no reply of the dialect
	Type                      // a message that is neither a reply nor an exception
	Sequence                  // a sequence id that no request has
	Repeated                  // a second reply
	Order                     // a reply before its turn, where replies are in order
	Payload                   // another payload than Request.Expect
	Status                    // a status of HTTP other than 200
	Refusal                   // an exception of Thrift, or a code of tRPC: see Result.Exceptions
	Unsent                    // in an open loop: due, but there was no place for it until the end
	errorKinds
)

// String returns the word for k.
func (k ErrorKind) String() string {
	return [errorKinds]string{
		"timeout", "reset", "closed", "lost", "dial", "garbage", "type", "sequence",
		"repeated", "order", "payload", "status", "exception", "unsent",
	}[k]
}

// MarshalText returns the word for k.
func (k ErrorKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (k *ErrorKind) UnmarshalText(text []byte) error {
	for i := range errorKinds {
		if i.String() == string(text) {
			*k = i
			return nil
		}
	}
	return fmt.Errorf("load: there is no kind of error %q", text)
}
