package otelthrum

import (
	"net"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the names of the semantic conventions, and what spans and
// measurements of a method have in common, which is made once.

const (
	keySystemName     = attribute.Key("rpc.system.name")
	keySystem         = attribute.Key("rpc.system") // until v1.37
	keyService        = attribute.Key("rpc.service")
	keyMethod         = attribute.Key("rpc.method")
	keyMethodOriginal = attribute.Key("rpc.method_original")
	keyStatusCode     = attribute.Key("rpc.response.status_code")
	keyErrorType      = attribute.Key("error.type")
	keyServerAddress  = attribute.Key("server.address")
	keyServerPort     = attribute.Key("server.port")
	keyPeerAddress    = attribute.Key("network.peer.address")
	keyPeerPort       = attribute.Key("network.peer.port")
	keyTransport      = attribute.Key("network.transport")
	keyException      = attribute.Key("thrift.exception.field")
)

// systemOf returns the value of rpc.system.name for a dialect.
func systemOf(d transport.Dialect) string {
	switch d {
	case transport.TRPC:
		return "trpc"
	case transport.GRPC:
		return "grpc"
	}
	return "thrift"
}

// other stands for methods that are not told apart.
const other = rpc.OtherType

// maxMethods bounds the methods that a client's telemetry tells apart, because
// a proxy calls what its own clients name.
const maxMethods = 1000

// method is what the spans and measurements of a method have in common.
type method struct {
	span  string // its name
	start []trace.SpanStartOption

	attributes []attribute.KeyValue
	success    metric.MeasurementOption
}

// methodKey names a method.
type methodKey struct{ system, service, name string }

// nameOf returns the key of a method, whose name may be "/service/method" as tRPC has it.
func nameOf(d transport.Dialect, service, name string) methodKey {
	if own, ok := strings.CutPrefix(name, "/"); ok {
		if s, m, ok := strings.Cut(own, "/"); ok {
			return methodKey{systemOf(d), s, m}
		}
	}
	return methodKey{systemOf(d), service, name}
}

// full returns service and method.
func (k methodKey) full() string {
	if k.service == "" {
		return k.name
	}
	return k.service + "/" + k.name
}

// methods are the methods that have been seen. It is safe for concurrent use.
type methods struct {
	legacy bool
	kind   trace.SpanKind
	to     []attribute.KeyValue // of spans and measurements: where the server is

	mu    sync.RWMutex
	known map[methodKey]*method
}

// of returns a method, or what stands for all that are not told apart.
func (m *methods) of(key methodKey, known bool) *method {
	if !known {
		key = methodKey{system: key.system, name: other}
	}
	m.mu.RLock()
	found, size := m.known[key], len(m.known)
	m.mu.RUnlock()
	switch {
	case found != nil:
		return found
	case size >= maxMethods && known:
		return m.of(key, false)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found = m.known[key]; found == nil {
		found = m.newMethod(key)
		m.known[key] = found
	}
	return found
}

// newMethod makes what the spans and measurements of a method have in common.
func (m *methods) newMethod(key methodKey) *method {
	full := key.full()
	attributes := []attribute.KeyValue{keySystemName.String(key.system), keyMethod.String(full)}
	if m.legacy {
		attributes = []attribute.KeyValue{keySystem.String(key.system), keyMethod.String(key.name)}
		if key.service != "" {
			attributes = append(attributes, keyService.String(key.service))
		}
	}
	attributes = append(attributes, m.to...)
	if full == other {
		full = key.system
	}
	return &method{
		span:       full,
		start:      []trace.SpanStartOption{trace.WithSpanKind(m.kind), trace.WithAttributes(attributes...)},
		attributes: attributes,
		success:    metric.WithAttributeSet(attribute.NewSet(attributes...)),
	}
}

// failure returns the attributes of the measurement of a call that ended in an error.
func (m *method) failure(kind string) metric.MeasurementOption {
	all := append(m.attributes[:len(m.attributes):len(m.attributes)], keyErrorType.String(kind))
	return metric.WithAttributeSet(attribute.NewSet(all...))
}

// serverOf says where a client's server is.
func serverOf(to rpc.Target) []attribute.KeyValue {
	switch host, port, err := net.SplitHostPort(to.Address); {
	case err == nil:
		if n, err := strconv.Atoi(port); err == nil {
			return []attribute.KeyValue{keyServerAddress.String(host), keyServerPort.Int(n)}
		}
		return []attribute.KeyValue{keyServerAddress.String(host)}
	case to.Address != "":
		return []attribute.KeyValue{keyServerAddress.String(to.Address)}
	}
	return nil
}

// peerOf says who calls a server.
func peerOf(remote net.Addr) []attribute.KeyValue {
	if remote == nil {
		return nil
	}
	network := remote.Network()
	if a, ok := remote.(*net.TCPAddr); ok {
		return []attribute.KeyValue{keyPeerAddress.String(a.IP.String()), keyPeerPort.Int(a.Port), keyTransport.String(network)}
	}
	attributes := []attribute.KeyValue{keyTransport.String(network)}
	if host, port, err := net.SplitHostPort(remote.String()); err == nil {
		n, _ := strconv.Atoi(port)
		return append(attributes, keyPeerAddress.String(host), keyPeerPort.Int(n))
	}
	if address := remote.String(); address != "" {
		attributes = append(attributes, keyPeerAddress.String(address))
	}
	return attributes
}
