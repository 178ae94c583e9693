package rpc

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds what both sides of gRPC say beside messages: codes that
// stand for tRPC's, which are the ones that calls on messages fail with here, and metadata.

// grpcCodes are gRPC's codes for those of tRPC; Unknown for all others.
var grpcCodes = map[trpc.Code]grpc.Code{
	trpc.NoService: grpc.Unimplemented, trpc.NoFunc: grpc.Unimplemented,
	trpc.ServerDecode: grpc.InvalidArgument, trpc.ServerValidate: grpc.InvalidArgument, trpc.ClientValidate: grpc.InvalidArgument,
	trpc.ServerTimeout: grpc.DeadlineExceeded, trpc.ServerFullLink: grpc.DeadlineExceeded,
	trpc.ClientTimeout: grpc.DeadlineExceeded, trpc.ClientFullLink: grpc.DeadlineExceeded, trpc.StreamIdle: grpc.DeadlineExceeded,
	trpc.ServerOverload: grpc.Unavailable, trpc.ClientOverload: grpc.Unavailable,
	trpc.ServerLimited: grpc.ResourceExhausted, trpc.ClientLimited: grpc.ResourceExhausted, trpc.StreamOverflow: grpc.ResourceExhausted,
	trpc.ServerAuth:   grpc.Unauthenticated,
	trpc.ServerEncode: grpc.Internal, trpc.ServerSystem: grpc.Internal, trpc.ClientEncode: grpc.Internal, trpc.ClientDecode: grpc.Internal,
	trpc.StreamEncode: grpc.Internal, trpc.StreamDecode: grpc.Internal,
	trpc.ClientConnect: grpc.Unavailable, trpc.ClientNetwork: grpc.Unavailable, trpc.ClientRouter: grpc.Unavailable,
	trpc.StreamNetwork: grpc.Unavailable, trpc.StreamWriteEnd: grpc.Unavailable,
	trpc.ClientCancelled: grpc.Canceled,
}

// trpcCodes are tRPC's codes for those of gRPC; Unknown for all others, which only applications use.
var trpcCodes = map[grpc.Code]trpc.Code{
	grpc.Canceled: trpc.ClientCancelled, grpc.InvalidArgument: trpc.ServerValidate, grpc.DeadlineExceeded: trpc.ServerFullLink,
	grpc.PermissionDenied: trpc.ServerAuth, grpc.ResourceExhausted: trpc.ServerLimited, grpc.Unimplemented: trpc.NoFunc,
	grpc.Internal: trpc.ServerSystem, grpc.Unavailable: trpc.ServerOverload, grpc.Unauthenticated: trpc.ServerAuth,
}

// perhapsBegun is the code of an exception that does not say that its call was not begun, and queueFull of one that does.
const (
	perhapsBegun = "0"
	queueFull    = "1"
)

// statusError returns a status of gRPC as a client of messages, or of tRPC, has it.
func statusError(s *grpc.Status) *StatusError {
	code, ok := trpcCodes[s.Code]
	if !ok {
		code = trpc.Unknown
	}
	return &StatusError{Code: code, Message: s.Message, wire: s, code: perhapsBegun}
}

// grpcStatus returns the status that stands for a failure, as statusOf gives it.
func grpcStatus(e *StatusError) *grpc.Status {
	if e.wire != nil {
		return e.wire
	}
	code, ok := grpcCodes[e.Code]
	if !ok || e.app != 0 {
		code = grpc.Unknown
	}
	return &grpc.Status{Code: code, Message: e.Message}
}

// grpcTrailer returns the fields that tell a client of gRPC how a call has
// ended; err is nil for success.
func grpcTrailer(err error) http.Header {
	if err == nil {
		return http.Header{"Grpc-Status": {"0"}}
	}
	e := streamStatus(err)
	status := grpcStatus(e)
	if status.Code == grpc.OK || status.Code > grpc.Unauthenticated { // an error is none of them
		status = &grpc.Status{Code: grpc.Unknown, Message: status.Message, Details: status.Details}
	}
	h := http.Header{}
	if e.biz != nil {
		h = fieldsOf(e.biz.pairs())
	}
	h["Grpc-Status"] = []string{strconv.Itoa(int(status.Code))}
	if status.Message != "" {
		h["Grpc-Message"] = []string{grpc.EncodeMessage(clipText(status.Message))}
	}
	if len(status.Details) > 0 && len(status.Details) <= maxBizExtra {
		h["Grpc-Status-Details-Bin"] = []string{grpc.EncodeBinary(string(status.Details))}
	}
	return h
}

// grpcOutcome returns how a call has ended by the fields of its trailer, nil for
// success. It reports false if they do not say.
func grpcOutcome(h http.Header) (outcome error, ok bool) {
	values := h["Grpc-Status"]
	if len(values) == 0 {
		return nil, false
	}
	code := grpc.ParseCode(values[0])
	if code == grpc.OK {
		return nil, true
	}
	message := grpc.DecodeMessage(h.Get("Grpc-Message"))
	if text := h.Get(ttheader.KeyBizStatus); text != "" {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil && n != 0 {
			b := &BizStatus{Code: int32(n), Message: message}
			if extra := h.Get(ttheader.KeyBizExtra); extra != "" {
				b.readExtra([]byte(extra))
			}
			return b, true
		}
	}
	status := &grpc.Status{Code: code, Message: message}
	if text := h.Get("Grpc-Status-Details-Bin"); text != "" {
		if details, err := grpc.DecodeBinary(text); err == nil {
			status.Details = []byte(details)
		}
	}
	e := statusError(status)
	if text := h.Get(keyExceptionCode); text != "" {
		e.code = text
	}
	return e, true
}

// grpcPairs returns the metadata in header fields. Lines of the same name are
// one, with commas between them.
func grpcPairs(h http.Header) ([]transport.Pair, error) {
	var own http.Header // nil for none, as in most calls
	for name, lines := range h {
		if len(lines) == 0 || grpc.IsReserved(name) || thrifthttp.IsMechanical(name) {
			continue
		}
		value := lines[0]
		if grpc.IsBinary(name) {
			bytes, err := grpc.DecodeBinary(value)
			if err != nil {
				return nil, err
			}
			value = bytes
		} else if len(lines) > 1 {
			value = strings.Join(lines, ",")
		}
		if own == nil {
			own = http.Header{}
		}
		own[name] = []string{value}
	}
	if own == nil {
		return nil, nil
	}
	return pairsOf(own)
}

// grpcFields returns metadata as header fields, without what no field can hold.
func grpcFields(pairs []transport.Pair) http.Header {
	if len(pairs) == 0 {
		return nil
	}
	own := make([]transport.Pair, 0, len(pairs))
	for _, p := range pairs {
		if grpc.IsReserved(p.Key) {
			continue
		}
		if grpc.IsBinary(p.Key) {
			p.Value = grpc.EncodeBinary(p.Value)
		}
		own = append(own, p)
	}
	return fieldsOf(own)
}

// sortedPairs returns the metadata of a stream in the order of its keys.
func sortedPairs(md map[string]string) []transport.Pair {
	pairs := pairsOfMetadata(nil, md)
	slices.SortFunc(pairs, func(a, b transport.Pair) int { return cmp.Compare(a.Key, b.Key) })
	return pairs
}

// metadataOfFields returns metadata as a stream has it.
func metadataOfFields(h http.Header) stream.Metadata {
	pairs, _ := grpcPairs(h)
	return metadataOfPairs(pairs)
}

// metadataOfPairs returns pairs as a stream has them.
func metadataOfPairs(pairs []transport.Pair) stream.Metadata {
	md := stream.Metadata{}
	for _, p := range pairs {
		md[p.Key] = p.Value
	}
	return md
}
