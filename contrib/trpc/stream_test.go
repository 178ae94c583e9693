package trpc

import (
	"trpc.group/trpc-go/trpc-go/server"
	"trpc.group/trpc-go/trpc-go/stream"
)

// newStreamHandle returns what has trpc-go's server serve streams.
func newStreamHandle() server.StreamHandle { return stream.NewStreamDispatcher() }
