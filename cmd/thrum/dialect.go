package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/certs"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds how the commands that speak to a server are told to.

// speech says how messages travel.
type speech struct {
	dialect     string
	protocol    string
	compress    string
	multiplexed bool
	path        string
	tls         tlsFlags
}

// tlsFlags say whether and how TLS is around the messages.
type tlsFlags struct {
	on    bool
	files certs.Files
	name  string
}

// dialectHelp explains what the flags of speech take.
const dialectHelp = "A dialect is framed, unframed, theader (fbthrift's header transport), ttheader\n" +
	"(CloudWeGo's), http (POST over HTTP/1.1, to --path) or http2 (the same over HTTP/2); a\n" +
	"protocol binary, compact or compact-fbthrift; a compression, of theader alone, none,\n" +
	"zlib or zstd."

func (s *speech) declare(flags *flag.FlagSet) {
	flags.StringVar(&s.dialect, "dialect", "", "how messages travel: a `dialect` (default framed)")
	flags.StringVar(&s.protocol, "protocol", "binary", "the `protocol` of the messages")
	flags.StringVar(&s.compress, "compress", "none", "the `compression` of the messages")
	flags.BoolVar(&s.multiplexed, "multiplexed", false, "name the service in each call, as TMultiplexedProtocol does")
	flags.StringVar(&s.path, "path", "/", "of http and http2, the `path` to post to")
	flags.BoolVar(&s.tls.on, "tls", false, "speak inside TLS")
	flags.StringVar(&s.tls.files.CA, "tls-ca", "", "with --tls, the `file` of the authorities to trust instead of the system's, as PEM")
	flags.StringVar(&s.tls.files.Cert, "tls-cert", "", "with --tls, the `file` of the certificate to show, as PEM")
	flags.StringVar(&s.tls.files.Key, "tls-key", "", "with --tls, the `file` of its private key, as PEM")
	flags.StringVar(&s.tls.name, "tls-name", "", "with --tls, the `name` that the server's certificate must have (default the host of ADDRESS)")
}

// config returns the configuration of a client of the server at an address, with which it
// speaks a protocol by its name in ALPN, nil without TLS.
func (f *tlsFlags) config(address, protocol string) (*tls.Config, error) {
	if !f.on {
		if *f != (tlsFlags{}) {
			return nil, usageError("--tls-ca, --tls-cert, --tls-key and --tls-name need --tls")
		}
		return nil, nil
	}
	store, err := certs.Load(f.files, certs.Options{NextProtos: []string{protocol}})
	if err != nil {
		return nil, err
	}
	name := f.name
	if host, _, err := net.SplitHostPort(address); name == "" && err == nil {
		name = host
	}
	return store.ClientConfig(name), nil
}

// protocolOf returns the name in ALPN of a dialect.
func protocolOf(d load.Dialect) string {
	switch d {
	case load.HTTP:
		return "http/1.1"
	case load.HTTP2, load.GRPC:
		return "h2"
	}
	return "thrift"
}

// form returns what the flags say, for a command that speaks dialects.
func (s *speech) form(dialects []load.Dialect) (f load.Form, err error) {
	if !strings.HasPrefix(s.path, "/") || strings.ContainsFunc(s.path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
		return f, usageError("--path must start with / and have no spaces")
	}
	if s.dialect == "" {
		s.dialect = load.Framed.String()
	}
	words := map[string]load.Dialect{}
	for _, d := range dialects {
		words[d.String()] = d
	}
	if f.Dialect, err = choose("dialect", s.dialect, words); err != nil {
		return f, err
	}
	f.Protocol, err = choose("protocol", s.protocol, map[string]compact.Dialect{
		"binary": 0, "compact": compact.Apache, "compact-fbthrift": compact.FBThrift,
	})
	if err != nil {
		return f, err
	}
	f.Transform, err = choose("compress", s.compress, map[string]header.Transform{
		"none": header.None, "zlib": header.Zlib, "zstd": header.Zstd,
	})
	if err == nil && f.Transform != header.None && f.Dialect != load.Header {
		err = usageError("only the dialect theader compresses")
	}
	return f, err
}

// client returns how a client of the server at an address is to speak.
func (s *speech) client(address string) (opts []rpc.ClientOption, err error) {
	f, err := s.form([]load.Dialect{load.Framed, load.Unframed, load.Header, load.TTHeader, load.HTTP, load.HTTP2})
	if err != nil {
		return nil, err
	}
	config, err := s.tls.config(address, protocolOf(f.Dialect))
	if err != nil {
		return nil, err
	}
	if config != nil {
		opts = append(opts, rpc.TLS(config))
	}
	switch f.Dialect {
	case load.Unframed:
		opts = append(opts, rpc.Unframed())
	case load.Header:
		opts = append(opts, rpc.THeader(f.Transform))
	case load.TTHeader:
		opts = append(opts, rpc.TTHeader())
	case load.HTTP, load.HTTP2:
		url := "http://"
		if config != nil {
			url = "https://"
		}
		over := rpc.HTTP
		if f.Dialect == load.HTTP2 {
			over = rpc.HTTP2
		}
		opts = append(opts, over(url+httpHost(address)+s.path))
	}
	if f.Protocol != 0 {
		opts = append(opts, rpc.Compact(f.Protocol))
	}
	return opts, nil
}

// checkTimeout refuses a --timeout in which nothing could be answered.
func checkTimeout(d time.Duration) error {
	if d < time.Millisecond {
		return usageError("--timeout must be at least 1ms")
	}
	return nil
}

// httpHost returns the host that posts to an address name.
func httpHost(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return "localhost"
	}
	return address
}

// unanswered adds a hint to an error that comes where no server answers at an address.
func unanswered(err error, address string) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w\nhint: is a server running at %s? --timeout is how long it is waited for", err, address)
	}
	return err
}

// networkOf splits an address of the command line: unix:PATH or host:port.
func networkOf(address string) (network, rest string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", usageError("the address " + address + " is neither host:port nor unix:PATH")
	}
	return "tcp", address, nil
}
