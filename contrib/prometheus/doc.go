// Package promthrum measures Thrum's servers and clients for Prometheus:
//
//	metrics := promthrum.NewServer()
//	server := rpc.NewServer(metrics.Option())
//	metrics.Watch(server)
//	registry.MustRegister(metrics)
//
// # What there is
//
// Histograms of latency, by service, method and outcome: thrum_server_call_duration_seconds of
// the calls that were admitted, thrum_client_call_duration_seconds of all calls. The outcome is "ok",
// "exception" for a declared one, or what rpc.ErrorType says, such as "timeout" or "LOADSHEDDING".
//
// Streams are measured likewise, from their opening to their end; thrum_server_streams and thrum_client_streams are those that
// are open, thrum_server_stream_messages_total and thrum_client_stream_messages_total what passes over them, by direction.
//
// What rpc.Server.Stats and rpc.Client.Stats count, at the time of a scrape: connections, calls in flight, memory,
// thrum_server_refused_total with the reason, and so on.
//
// [NewCluster] has what a client with many addresses counts, for each of them.
//
// # How many series
//
// A method whose name is the client's choice (served by rpc.Service.Unknown), and methods of a client beyond the
// first thousand, share the label "_OTHER" for service and method. Outcomes are some thirty. Addresses
// of a cluster are as many as it allows.
//
// Nothing is registered by itself, and nothing but the given registry is used.
package promthrum
