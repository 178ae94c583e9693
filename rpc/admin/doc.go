// Package admin shows what a process that serves Thrift is doing: a status page,
// health, and profiles, as a net/http handler for a port of its own; and health as a service
// beside the others, Thrift's or gRPC's.
//
//	a, err := admin.New(admin.WithServer("shop", server))
//	go http.Serve(listener, a)
//	err = server.Register(a.Service())       // for fb303's tools
//	err = server.Register(a.HealthService()) // for gRPC's: Kubernetes' probes, load balancers
//
// # Pages
//
//	/              the status as HTML, without scripts; /?refresh=5 loads it again every 5 s
//	/status.json   the same as JSON
//	/livez         200 as long as the process answers
//	/readyz        200, or 503 with the reasons while calls should go elsewhere
//	/debug/pprof/  the profiles of package runtime/pprof, for go tool pprof; profile and trace take ?seconds=N
//
// # Health
//
// The status is one of fb303's: [Starting], [Alive], [Stopping], [Stopped], [Warning], [Dead]. A program sets the first three
// by [Handler.SetStatus]; a server that shuts down makes it Stopping by itself, and a
// check that fails makes Warning of Alive. Only Alive is ready. The service is fb303's
// FacebookService, so that its tools can ask getStatus; fb303.thrift here is the IDL for others, Kitex among them.
// gRPC's grpc.health.v1.Health says of Alive that it is SERVING, and of all else that it is not.
//
// # Who may see it
//
// Everybody who reaches the port: it has no passwords, and profiles tell much and cost something. Let it
// listen on an address that only operators reach. All pages are for reading: requests other than GET and HEAD are
// refused. What is shown is escaped.
//
// The package registers nothing anywhere, uses no global handler, and must not know how a call is served.
package admin
