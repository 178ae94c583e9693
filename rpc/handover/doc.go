// Package handover lets a new process take the place of an old one without
// losing a call: the listening sockets go from one to the other, and with them the
// connections, each between two messages, so that clients which cannot be told of a
// restart notice none.
//
// Both processes run the same program. It begins a [Handover] at the path of
// a Unix socket; if a process is there already, its listeners come from it. Then it listens
// by [Handover.Listen], serves, and calls [Handover.Run], which tells the other
// process to go and later makes way for the next one:
//
//	server := rpc.NewServer()
//	h, err := handover.Begin(ctx, "/run/shop/handover.sock", server)
//	l, err := h.Listen(ctx, "tcp", ":9090")
//	go server.Serve(l)
//	err = h.Run(ctx) // until a successor has everything, or ctx ends
//
// A process that a supervisor starts with listening sockets open gets them by
// [Inherit], or by [Activated] in the convention of systemd; one that starts its successor itself passes
// them with [Files]. They hold the connections that nobody has accepted yet, but no others: those
// are left to [rpc.Server.Shutdown], which tells clients, where their dialect has a way to.
//
// The package reads no environment and starts no process: what those hold,
// the program passes in. It must not know any dialect.
package handover
