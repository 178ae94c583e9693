package handover

import (
	"net"
	"time"
)

// ActivatedFrom is Activated for sockets from another descriptor on.
var ActivatedFrom = activated

// Answer lets the other process take d for an answer. It is called before Run.
func (h *Handover) Answer(d time.Duration) { h.answer = d }

// Start lets a successor take d until it serves. It is called before Run.
func (h *Handover) Start(d time.Duration) { h.start = d }

// Give sends a connection and its state.
func Give(to *net.UnixConn, state []byte, socket any) error { return send(to, conn, state, socket) }
