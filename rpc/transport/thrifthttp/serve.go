package thrifthttp

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
)

// This file holds one request: is it a message, reading it, answering it.

// ContentType is the media type of posts. Apache's and fbthrift's clients send
// it with every protocol.
const ContentType = "application/x-thrift"

// The media types that name the protocol. Nobody relies on them.
const (
	contentTypeBinary  = "application/vnd.apache.thrift.binary"
	contentTypeCompact = "application/vnd.apache.thrift.compact"
)

// problemType is the media type of answers that hold no message.
const problemType = "application/problem+json"

// StatusError is a request that is answered with a status and a problem
// document, or that a server has answered with a status other than 200.
type StatusError struct {
	Status int
	Detail string
}

// Error renders the status and the detail.
func (e *StatusError) Error() string {
	text := "HTTP status " + strconv.Itoa(e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// IsMessage reports whether r posts a Thrift message.
func IsMessage(r *http.Request) bool {
	return r.Method == http.MethodPost && mediaType(r.Header) != ""
}

// mediaType returns the media type of a Thrift message, "" for others.
func mediaType(h http.Header) string {
	text := h.Get("Content-Type")
	if text == ContentType { // nearly always, and without parameters
		return text
	}
	media, _, err := mime.ParseMediaType(text)
	if err == nil && (media == ContentType || media == contentTypeBinary || media == contentTypeCompact) {
		return media
	}
	return ""
}

// isGRPC reports whether a header is that of a request of gRPC.
func isGRPC(h http.Header) bool {
	_, ok := grpc.ParseContentType(h.Get("Content-Type"))
	return ok
}

// ServeHTTP answers one request; Server is also an http.Handler, for a server
// that listens itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c != nil && r.TLS == nil {
		r.TLS = c.tls
	}
	if r.Method == http.MethodPost && s.opt.GRPC != nil && isGRPC(r.Header) { // which costs less to see than what follows
		s.opt.GRPC.ServeHTTP(w, r)
		return
	}
	media := mediaType(r.Header)
	switch {
	case r.Method == http.MethodPost && media != "":
		s.serveMessage(w, r, c, media)
	case s.opt.Fallback != nil:
		s.fallBack(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		s.refuse(w, r, &StatusError{http.StatusMethodNotAllowed, "Thrift messages are posted, with the content type " + ContentType})
	default:
		s.refuse(w, r, &StatusError{http.StatusUnsupportedMediaType, "the body must be a Thrift message in the binary or the compact protocol, with the content type " + ContentType})
	}
}

// serveMessage answers a post of a message.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request, c *conn, media string) {
	control := http.NewResponseController(w)
	in := &Request{Path: r.URL.Path, Header: r.Header, TLS: r.TLS, Proto: r.Proto}
	if c != nil {
		in.RemoteAddr, in.LocalAddr, in.Conn = c.RemoteAddr(), c.LocalAddr(), c.Conn
	}
	held := hold{server: s}
	held.begin(c)
	defer held.end()
	if err := s.readMessage(w, r, control, in, &held); err != nil {
		s.refuse(w, r, err)
		return
	}
	reply, err := s.exchange(r, in)
	if s.opt.WriteTime > 0 {
		control.SetWriteDeadline(time.Now().Add(s.opt.WriteTime)) // what cannot have one has one of its connection, or none
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	h := w.Header()
	for name, values := range reply.Header {
		h[name] = values
	}
	size := 0
	for _, piece := range reply.Message {
		size += len(piece)
	}
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(size))
	for _, piece := range reply.Message {
		if _, err := w.Write(piece); err != nil {
			break // the client is gone; nobody is left to tell
		}
	}
	if reply.Release != nil {
		reply.Release()
	}
}

// exchange calls Exchange and turns a panic into an error: the connection may have other streams.
func (s *Server) exchange(r *http.Request, in *Request) (reply Reply, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return s.opt.Exchange(r.Context(), in)
}

// readMessage reads the message of a request whole.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request, control *http.ResponseController, in *Request, held *hold) error {
	tooLarge := &StatusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the message is larger than %d bytes", s.opt.MaxBody)}
	if r.ContentLength > int64(s.opt.MaxBody) {
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // instead of reading what nobody wants
		}
		return tooLarge
	}
	if s.opt.ReadTime > 0 {
		control.SetReadDeadline(time.Now().Add(s.opt.ReadTime))
	}
	body, size, limit := io.Reader(http.MaxBytesReader(w, r.Body, int64(s.opt.MaxBody))), r.ContentLength, s.opt.MaxBody
	switch coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		unpacked, _ := s.unpackers.Get().(*gzip.Reader)
		if unpacked == nil {
			unpacked = new(gzip.Reader)
		}
		defer s.unpackers.Put(unpacked)
		if err := unpacked.Reset(body); err != nil {
			return bodyError(err, tooLarge)
		}
		body, size, limit = unpacked, -1, s.opt.MaxUnpacked
		tooLarge.Detail = fmt.Sprintf("the message is larger than %d bytes, or holds more than %d", s.opt.MaxBody, limit)
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return &StatusError{http.StatusUnsupportedMediaType, "the content coding may be gzip only"}
	}
	var err error
	in.Message, in.Block, err = readBody(body, size, limit, &s.blocks, held.add)
	if err != nil {
		return bodyError(err, tooLarge) // the deadline stands: net/http discards what is left of the body
	}
	if s.opt.ReadTime > 0 {
		control.SetReadDeadline(time.Time{}) // or waiting for the client to go away would end with it
	}
	return nil
}

// bodyError returns what a client is told about a body that cannot be read.
func bodyError(err error, tooLarge *StatusError) error {
	var limit *http.MaxBytesError
	var status *StatusError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &status):
		return status
	case errors.As(err, &limit) || errors.Is(err, errTooLarge):
		return tooLarge
	case errors.As(err, &timeout) && timeout.Timeout():
		return &StatusError{http.StatusRequestTimeout, "the message did not arrive in time"}
	}
	return &StatusError{http.StatusBadRequest, "the body cannot be read: " + err.Error()}
}

var errTooLarge = errors.New("the body exceeds the limit")

// readBody reads a body of size bytes, -1 if that is unknown, and at most limit. Memory grows with what
// arrives, not with what is claimed. arrived is told of the bytes and may refuse them. The view is valid until the block is released.
func readBody(body io.Reader, size int64, limit int, pool *transport.Pool, arrived func(n int) error) ([]byte, *transport.Block, error) {
	in := transport.NewReader(body, pool)
	defer in.Close()
	for have := 0; int64(have) != size; {
		err := in.Fill(int(max(size, 0)))
		if err == io.EOF && size < 0 {
			break
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, nil, err
		}
		n := len(in.Bytes())
		if n > limit {
			return nil, nil, errTooLarge
		}
		if err := arrived(n - have); err != nil {
			return nil, nil, err
		}
		have = n
	}
	if size >= 0 { // net/http sees the end when it is read
		if n, err := body.Read(make([]byte, 1)); n > 0 || err != io.EOF {
			return nil, nil, fmt.Errorf("more than the %d bytes that were announced: %w", size, err)
		}
	}
	if len(in.Bytes()) == 0 {
		return nil, nil, errEmpty
	}
	view, block := in.Take(len(in.Bytes()))
	return view, block, nil
}

var errEmpty = errors.New("it is empty")

// smallMessage is the size in bytes of a message that is taken however much the server holds, if it is the only one of
// its connection: clients that send slowly, or do not read, cannot keep out the others.
const smallMessage = 64 << 10

// hold counts the bytes of a message as held by the server.
type hold struct {
	server *Server
	conn   *conn // nil for requests of another server
	only   bool  // no other message of the connection was held when this one began
	bytes  int64
}

func (h *hold) begin(c *conn) {
	if c != nil {
		h.conn, h.only = c, c.messages.Add(1) == 1
	}
}

func (h *hold) add(n int) error {
	h.bytes += int64(n)
	held, small := h.server.held.Add(int64(n)), h.only && h.bytes <= smallMessage
	if held > h.server.opt.MaxHeld && held > h.bytes && !small {
		return &StatusError{http.StatusServiceUnavailable, "the server holds too many messages"}
	}
	return nil
}

func (h *hold) end() {
	h.server.held.Add(-h.bytes)
	if h.conn != nil {
		h.conn.messages.Add(-1)
	}
}

// refuse answers with a status and a problem document.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, reason error) {
	var status *StatusError
	if !errors.As(reason, &status) {
		status = &StatusError{http.StatusInternalServerError, "the call failed"}
	}
	s.opt.Report(r, status.Status, reason)
	if errors.Is(reason, context.Canceled) && r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	problem, err := json.Marshal(map[string]any{
		"type": "about:blank", "title": http.StatusText(status.Status), "status": status.Status,
		"detail": status.Detail, "instance": r.URL.EscapedPath(),
	})
	if err != nil { // strings and a number
		problem = nil
	}
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(problem)))
	w.WriteHeader(status.Status)
	w.Write(problem)
}
