// Package otelthrum traces and measures the calls of Thrum's servers and clients
// with OpenTelemetry:
//
//	server := rpc.NewServer(otelthrum.Server())
//	client, err := rpc.Dial(ctx, "tcp", address, rpc.ServiceName("Shop"), otelthrum.Client())
//
// # Names
//
// Names, attributes and units are those of the RPC conventions of OpenTelemetry's
// semantic conventions v1.43.0: spans are named Service/method, histograms are
// rpc.server.call.duration and rpc.client.call.duration, in seconds, and rpc.system.name is
// "thrift", or "trpc" and "grpc" for messages over tRPC and gRPC. With [Legacy] they are those of v1.37.0, which older dashboards know: rpc.service beside
// rpc.method, and rpc.server.duration and rpc.client.duration in milliseconds.
//
// A method whose name is the client's choice (served by rpc.Service.Unknown) and methods of a
// client beyond the first thousand are "_OTHER", so that the number of time series is bounded; a span tells
// the real name in rpc.method_original.
//
// # What is an error
//
// A declared exception and a business status are answers that the service's
// contract knows: they are no errors unless [ExceptionsAreErrors] says so. The
// span tells them by thrift.exception.field and rpc.response.status_code.
//
// On the client everything else is an error. error.type is the name of the
// TApplicationException, such as INTERNAL_ERROR, or "timeout", "canceled", or the stage
// at which the call failed, such as "dial".
//
// On the server the status of the span is an error where the server is at fault: not for calls
// that were canceled, and not for messages that no server could have answered (unknown methods, arguments
// that cannot be decoded). error.type tells of these all the same. Calls that are not
// admitted reach no handler and no interceptor: [Watch] measures them.
//
// # Streams
//
// A stream has one span on each side, from its opening to its end, and is measured like a call. The span tells
// how many messages went and came, by thrum.messages.sent and thrum.messages.received, since the conventions have no
// name for that any more; with [Legacy] rpc.client.requests_per_rpc and the like are measured, which they had. [MessageEvents] adds
// the event of each message.
//
// # How a trace crosses the network
//
// By W3C's traceparent, tracestate and baggage, as headers under these names, over
// THeader, TTHeader (where Kitex finds them in its metainfo), HTTP and tRPC. They
// are transient headers, which stop at the next server: each hop is a parent of its
// own, and a service that starts a new trace on purpose must not have the old one leak past it. Framed and unframed messages
// have no headers: behind them a new trace begins.
//
// A cluster of servers (package cluster) may make several attempts of one call. Each gets a span by
//
//	calls := rpc.Intercepted(cluster, rpc.Target{Service: "Shop"}, otelthrum.Interceptor(otelthrum.OverAttempts()))
//
// around the cluster and the option [Attempts]("Shop") in it; for streams there are [StreamInterceptor] and
// [rpc.InterceptedStreams].
//
// What holds the pieces together is the context: a handler passes its own on to
// the clients that it calls; a callback takes it from its Responder.
package otelthrum
