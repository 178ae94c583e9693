package thrifthttp

import (
	"io"
	"net/http"
	"time"
)

// This file holds requests that are no messages: they go to another handler,
// under the same time limits.

// fallBack lets the fallback answer.
func (s *Server) fallBack(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if s.opt.ReadTime > 0 && r.Body != nil && r.Body != http.NoBody {
		control.SetReadDeadline(time.Now().Add(s.opt.ReadTime))
		r.Body = &timedBody{r.Body, control}
	}
	if s.opt.WriteTime > 0 {
		w = &timedWriter{w, control, s.opt.WriteTime}
	}
	s.opt.Fallback.ServeHTTP(w, r)
}

// timedBody is a body whose read deadline ends with it. The connection is read
// on while the handler works, to see whether the client goes away.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read lifts the deadline at the end.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// timedWriter gives every write its time.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
}

// Write sets the deadline first.
func (w *timedWriter) Write(b []byte) (int, error) {
	w.control.SetWriteDeadline(time.Now().Add(w.limit))
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *timedWriter) Flush() { w.control.Flush() }

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
