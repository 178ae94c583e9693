package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds unary calls of gRPC, which go through a tunnel (http2.go). A request in it says its method and the
// format of its message before the body; a reply says its outcome before its message.

const (
	// grpcMethod is the size of the length of a method.
	grpcMethod = 2
	// grpcOutcome is what stands before a reply's message: the code, whether it is an application's, the length of the text.
	grpcOutcome = 4 + 1 + 2
	// maxOutcomeText is what is kept of the text of an outcome, in bytes.
	maxOutcomeText = 1 << 10
	// brokenAnswer is the status of what is no answer of gRPC.
	brokenAnswer = 1<<16 - 1
)

// messageGRPC encodes a call as it goes through a tunnel.
func (f *Form) messageGRPC(method string, t transport.ContentType, body []byte) (r Request, err error) {
	switch {
	case !strings.HasPrefix(method, "/") || len(method) > 1<<10:
		return Request{}, fmt.Errorf("load: a method of gRPC is /package.Service/Method, and not %q", method)
	case t.Subtype() == "":
		return Request{}, fmt.Errorf("load: gRPC has no name for %s", t)
	}
	b := binary.BigEndian.AppendUint32(nil, 0)
	b = binary.BigEndian.AppendUint32(b, sequenceBase)
	b = binary.BigEndian.AppendUint16(b, uint16(len(method)))
	b = append(append(b, method...), byte(t))
	at := len(b)
	packing := f.Compression
	if len(body) == 0 {
		packing = trpc.None
	}
	if b, err = new(trpc.Compressor).Compress(append(b, make([]byte, grpc.PrefixSize)...), body, packing); err != nil {
		return Request{}, err
	}
	grpc.PutPrefix(b[at:], len(b)-at-grpc.PrefixSize, packing != trpc.None)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return Request{frame: b, ids: []place{{offset: 4}}}, nil
}

// grpcPoster makes the calls of a tunnel.
type grpcPoster struct {
	client *thrifthttp.Transport
	host   string
	header http.Header
	limit  int
	blocks transport.Pool
}

func newGRPCPoster(f *Form, client *thrifthttp.Transport, limit int) *grpcPoster {
	p := &grpcPoster{client: client, host: f.host(), limit: limit, header: http.Header{
		"Te": {"trailers"}, "Grpc-Accept-Encoding": {"gzip"}, "User-Agent": {"thrum"},
	}}
	if f.Compression == trpc.Gzip {
		p.header.Set("Grpc-Encoding", "gzip")
	}
	for _, h := range f.Headers {
		value := h.Value
		if grpc.IsBinary(h.Key) {
			value = grpc.EncodeBinary(value)
		}
		p.header.Add(h.Key, value)
	}
	return p
}

func (p *grpcPoster) close() { p.client.CloseIdleConnections() }

// post makes one call.
func (p *grpcPoster) post(ctx context.Context, b, call []byte) ([]byte, error) {
	n := grpcMethod + int(binary.BigEndian.Uint16(call))
	method, format, body := string(call[grpcMethod:n]), transport.ContentType(call[n]), call[n+1:]
	r := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: p.host, Path: method}, Host: p.host,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: p.header.Clone(), ContentLength: int64(len(body)),
		Body:    io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	r.Header.Set("Content-Type", grpc.ContentType+"+"+format.Subtype())
	reply, err := p.client.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK && !saysOutcome(reply.Header) {
		return binary.BigEndian.AppendUint16(b, uint16(reply.StatusCode)), nil
	}
	return p.read(b, reply)
}

// read appends what an answer says.
func (p *grpcPoster) read(b []byte, reply *http.Response) ([]byte, error) {
	broken := func(why string) ([]byte, error) {
		return append(binary.BigEndian.AppendUint16(b, brokenAnswer), why...), nil
	}
	if _, ok := grpc.ParseContentType(reply.Header.Get("Content-Type")); !ok {
		return broken("the answer's content type is none of gRPC's")
	}
	body := &watchedBody{in: reply.Body}
	in := grpc.NewReader(body, &p.blocks, p.limit, nil)
	defer in.Close()
	message, _, block, err := in.Next()
	if err == nil {
		defer block.Release()
		var second *transport.Block
		if _, _, second, err = in.Next(); err == nil {
			second.Release()
			return broken("the answer has more than one message")
		}
	}
	switch {
	case body.failed != nil:
		return nil, body.failed
	case err != io.EOF:
		return broken(err.Error())
	}
	fields := reply.Trailer
	if !saysOutcome(fields) {
		fields = reply.Header
	}
	if !saysOutcome(fields) {
		return broken("the answer has no status")
	}
	code := grpc.ParseCode(fields.Get("Grpc-Status"))
	if code == grpc.OK && block == nil {
		return broken("the answer has no message")
	}
	text := grpc.DecodeMessage(fields.Get("Grpc-Message"))
	text = text[:min(len(text), maxOutcomeText)]
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	b = append(b, 0)
	if ofApplication(code, fields) {
		b[len(b)-1] = 1
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
	return append(append(b, text...), message...), nil
}

// saysOutcome reports whether fields say how a call has ended. A trailer that is only announced says nothing.
func saysOutcome(fields http.Header) bool { return len(fields["Grpc-Status"]) > 0 }

// ofApplication reports whether a call has failed by an error of the application: it has a status of its own, as servers of
// this module say it, or one of the codes that no library of gRPC gives by itself. Those give InvalidArgument, too.
func ofApplication(code grpc.Code, fields http.Header) bool {
	switch code {
	case grpc.OK:
		return false
	case grpc.NotFound, grpc.AlreadyExists, grpc.FailedPrecondition, grpc.Aborted, grpc.OutOfRange, grpc.DataLoss:
		return true
	}
	n, err := strconv.ParseInt(fields.Get(ttheader.KeyBizStatus), 10, 32)
	return err == nil && n != 0
}

// watchedBody remembers why a body cannot be read.
type watchedBody struct {
	in     io.Reader
	failed error
}

func (w *watchedBody) Read(b []byte) (int, error) {
	n, err := w.in.Read(b)
	if err != nil && err != io.EOF {
		w.failed = err
	}
	return n, err
}

// nextGRPC is next for what comes out of a tunnel.
func (r *replies) nextGRPC(b []byte) (rep reply, n int, err error) {
	frame, n, err := r.scan.Next(b)
	if n == 0 || err != nil {
		return rep, 0, err
	}
	if len(frame) < tunnelHead+tunnelStatus {
		return rep, 0, errors.New("a frame of the tunnel has no head")
	}
	rep.seq, rep.message = binary.BigEndian.Uint32(frame), true
	status, rest := int(binary.BigEndian.Uint16(frame[tunnelHead:])), frame[tunnelHead+tunnelStatus:]
	switch {
	case status == brokenAnswer:
		return rep, 0, errors.New(string(rest))
	case status != 0:
		rep.status = status
		return rep, n, nil
	case len(rest) < grpcOutcome:
		return rep, 0, errors.New("a frame of the tunnel has no outcome")
	}
	code, size := int32(binary.BigEndian.Uint32(rest)), int(binary.BigEndian.Uint16(rest[5:]))
	rep.kind, rep.thrown = thriftwire.Reply, rest[4] != 0
	text := rest[grpcOutcome : grpcOutcome+size]
	rep.payload = rest[grpcOutcome+size:]
	if code != 0 && !rep.thrown {
		rep.kind, rep.code, rep.ex = thriftwire.Exception, code, text
	}
	return rep, n, nil
}
