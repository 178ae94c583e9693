package main

import (
	"context"
	"crypto/tls"
	"flag"
	"net"
	"strings"

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
	tls         tlsFlags
}

// tlsFlags say whether and how TLS is around the messages.
type tlsFlags struct {
	on    bool
	files certs.Files
	name  string
}

// dialectHelp explains what the flags of speech take.
const dialectHelp = "A dialect is framed, unframed, theader (fbthrift's header transport) or ttheader\n" +
	"(CloudWeGo's); a protocol binary, compact or compact-fbthrift; a compression,\n" +
	"of theader alone, none, zlib or zstd."

func (s *speech) declare(fs *flag.FlagSet) {
	fs.StringVar(&s.dialect, "dialect", "framed", "how messages travel: a `dialect`")
	fs.StringVar(&s.protocol, "protocol", "binary", "the `protocol` of the messages")
	fs.StringVar(&s.compress, "compress", "none", "the `compression` of the messages")
	fs.BoolVar(&s.multiplexed, "multiplexed", false, "name the service in each call, as TMultiplexedProtocol does")
	fs.BoolVar(&s.tls.on, "tls", false, "speak inside TLS")
	fs.StringVar(&s.tls.files.CA, "tls-ca", "", "with --tls, the `file` of the authorities to trust instead of the system's, as PEM")
	fs.StringVar(&s.tls.files.Cert, "tls-cert", "", "with --tls, the `file` of the certificate to show, as PEM")
	fs.StringVar(&s.tls.files.Key, "tls-key", "", "with --tls, the `file` of its private key, as PEM")
	fs.StringVar(&s.tls.name, "tls-name", "", "with --tls, the `name` that the server's certificate must have (default the host of ADDRESS)")
}

// dialer returns what makes connections with TLS, nil if there is none.
func (f *tlsFlags) dialer(d load.Dialect) (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	if !f.on {
		if *f != (tlsFlags{}) {
			return nil, usageError("--tls-ca, --tls-cert, --tls-key and --tls-name need --tls")
		}
		return nil, nil
	}
	protocol := "thrift"
	if d == load.HTTP {
		protocol = "http/1.1"
	}
	store, err := certs.Load(f.files, certs.Options{NextProtos: []string{protocol}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		name := f.name
		if host, _, err := net.SplitHostPort(address); name == "" && err == nil {
			name = host
		}
		return (&tls.Dialer{Config: store.ClientConfig(name)}).DialContext(ctx, network, address)
	}, nil
}

// form returns what the flags say, for a command that speaks dialects.
func (s *speech) form(dialects []load.Dialect) (f load.Form, err error) {
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

// client returns how the client is to speak.
func (s *speech) client() (opts []rpc.ClientOption, err error) {
	f, err := s.form([]load.Dialect{load.Framed, load.Unframed, load.Header, load.TTHeader})
	if err != nil {
		return nil, err
	}
	switch f.Dialect {
	case load.Unframed:
		opts = append(opts, rpc.Unframed())
	case load.Header:
		opts = append(opts, rpc.THeader(f.Transform))
	case load.TTHeader:
		opts = append(opts, rpc.TTHeader())
	}
	if f.Protocol != 0 {
		opts = append(opts, rpc.Compact(f.Protocol))
	}
	dial, err := s.tls.dialer(f.Dialect)
	if dial != nil {
		opts = append(opts, rpc.Dialer(dial))
	}
	return opts, err
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
