package certs

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the Store: loading files and noticing that they changed.

// Files are the names of PEM files.
type Files struct {
	// Cert is the chain that this side shows, its own certificate first, and Key
	// its private key. A client that need not show who it is has neither.
	Cert, Key string
	// CA holds the authorities that the other side's certificate must come from. Without it
	// servers do not ask clients for certificates, and clients trust the authorities of the system.
	CA string
}

// Options may be zero.
type Options struct {
	// ClientAuth is what a server asks of clients. Default: with Files.CA a
	// valid certificate (tls.RequireAndVerifyClientCert), else nothing.
	ClientAuth tls.ClientAuthType
	// MinVersion is the oldest version of TLS; default tls.VersionTLS12.
	MinVersion uint16
	// NextProtos are the names for ALPN, those that are preferred first. Default: "thrift", "h2" and "http/1.1" for servers, and
	// "thrift" for clients. A peer that knows ALPN and none of them is refused.
	NextProtos []string
	// Logger takes what Watch has to say; default: slog.Default() at the time of Load.
	Logger *slog.Logger
}

// Store holds the certificates of one side. It is safe for concurrent use.
type Store struct {
	files   Files
	opt     Options
	loading sync.Mutex // held by Reload
	current atomic.Pointer[pair]
}

// pair is what the files held at one time. It does not change.
type pair struct {
	digest      [sha256.Size]byte
	certificate *tls.Certificate // nil without Files.Cert
	authorities *x509.CertPool   // nil without Files.CA
	server      *tls.Config      // of the handshakes of this time
}

// Load reads the files. A key that does not fit its certificate, a
// certificate that has expired, and files without anything in them are errors.
func Load(f Files, o Options) (*Store, error) {
	if o.MinVersion == 0 {
		o.MinVersion = tls.VersionTLS12
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.ClientAuth == tls.NoClientCert && f.CA != "" {
		o.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if o.ClientAuth >= tls.VerifyClientCertIfGiven && f.CA == "" {
		return nil, errors.New("certs: clients cannot be verified without a file of authorities")
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("certs: a certificate needs its key, and a key its certificate")
	}
	s := &Store{files: f, opt: o}
	if _, err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the files and puts what they hold to use if it has changed.
// After an error the store goes on with what it has.
func (s *Store) Reload() (changed bool, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	cert, key, ca, digest, err := s.read()
	if err != nil {
		return false, err
	}
	if old := s.current.Load(); old != nil && old.digest == digest {
		return false, nil
	}
	next := &pair{digest: digest}
	if s.files.Cert != "" {
		if next.certificate, err = parse(cert, key, time.Now()); err != nil {
			return false, fmt.Errorf("certs: %s with %s: %w", s.files.Cert, s.files.Key, err)
		}
	}
	if s.files.CA != "" {
		next.authorities = x509.NewCertPool()
		if !next.authorities.AppendCertsFromPEM(ca) {
			return false, fmt.Errorf("certs: %s: no certificates", s.files.CA)
		}
	}
	next.server = s.serverConfig(next)
	s.current.Store(next)
	return true, nil
}

// read reads the files that have a name.
func (s *Store) read() (cert, key, ca []byte, digest [sha256.Size]byte, err error) {
	hash := sha256.New()
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{s.files.Cert, &cert}, {s.files.Key, &key}, {s.files.CA, &ca}} {
		if f.name != "" {
			if *f.to, err = os.ReadFile(f.name); err != nil {
				return nil, nil, nil, digest, fmt.Errorf("certs: %w", err)
			}
		}
		sum := sha256.Sum256(*f.to)
		hash.Write(sum[:])
	}
	hash.Sum(digest[:0])
	return cert, key, ca, digest, nil
}

// parse returns a certificate that is good for use at a time.
func parse(cert, key []byte, now time.Time) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if c.Leaf == nil { // an old GODEBUG setting leaves it out
		if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return nil, err
		}
	}
	if now.After(c.Leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate has expired on %v", c.Leaf.NotAfter)
	}
	return &c, nil
}

// Expires returns the time when the certificate expires; zero without one.
func (s *Store) Expires() time.Time {
	if c := s.current.Load().certificate; c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// Watch reloads the files when what they hold has changed, until ctx ends. It
// looks at each interval, a minute if that is not positive, and logs changes at Info level and files that make no sense at
// Warn level, once until they change again. Of a certificate and a key that are replaced one after the other, the
// state between fits not and is passed over.
func (s *Store) Watch(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		interval = time.Minute
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	complaint := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := s.Reload()
		switch {
		case err != nil:
			if text := err.Error(); text != complaint {
				complaint = text
				s.opt.Logger.Warn("certs: not reloaded, the old certificates stay in use", "reason", err)
			}
		case changed:
			complaint = ""
			s.opt.Logger.Info("certs: reloaded", "cert", s.files.Cert, "ca", s.files.CA, "expires", s.Expires())
		default:
			complaint = ""
		}
	}
}
