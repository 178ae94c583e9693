package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
)

// This file holds the configurations, which ask the store at every handshake.

// ServerConfig returns the configuration of a server, for any number of
// listeners. The store needs a certificate. Sessions are not resumed where clients are asked for certificates. What is set in the result later does not count,
// since each handshake has a configuration of the store's.
func (s *Store) ServerConfig() (*tls.Config, error) {
	if s.files.Cert == "" {
		return nil, errors.New("certs: a server needs a certificate")
	}
	c := s.current.Load().server.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current.Load().server, nil }
	return c, nil
}

// serverConfig returns the configuration of handshakes while p is in use.
func (s *Store) serverConfig(p *pair) *tls.Config {
	if p.certificate == nil {
		return nil
	}
	protocols := s.opt.NextProtos
	if protocols == nil {
		protocols = []string{"thrift", "h2", "http/1.1"}
	}
	return &tls.Config{
		Certificates: []tls.Certificate{*p.certificate},
		ClientAuth:   s.opt.ClientAuth,
		ClientCAs:    p.authorities,
		MinVersion:   s.opt.MinVersion,
		NextProtos:   slices.Clone(protocols),
		// Before Go 1.26 a ticket could outlive the authorities that its client was verified by.
		SessionTicketsDisabled: s.opt.ClientAuth != tls.NoClientCert,
	}
}

// ClientConfig returns the configuration of a client. serverName is the name, or IP address,
// that the server's certificate must have. When it is empty, who uses the configuration sets
// ServerName in a copy, to a name and not an address if the store has authorities.
func (s *Store) ClientConfig(serverName string) *tls.Config {
	protocols := s.opt.NextProtos
	if protocols == nil {
		protocols = []string{"thrift"}
	}
	c := &tls.Config{ServerName: serverName, MinVersion: s.opt.MinVersion, NextProtos: slices.Clone(protocols)}
	if s.files.Cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return s.current.Load().certificate, nil
		}
	}
	if s.files.CA != "" {
		// crypto/tls has no way to ask for the authorities, so its own check is
		// put off, and VerifyConnection makes the same one. It runs for resumed sessions too.
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(state tls.ConnectionState) error { return s.verifyServer(state, serverName) }
	}
	return c
}

// verifyServer checks a server's certificates as crypto/tls does.
func (s *Store) verifyServer(state tls.ConnectionState, name string) error {
	if name == "" {
		name = state.ServerName // which is empty for addresses
	}
	if name == "" {
		return errors.New("certs: the name that the server's certificate must have is not known: pass it to ClientConfig")
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("certs: the server has shown no certificate")
	}
	o := x509.VerifyOptions{Roots: s.current.Load().authorities, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := state.PeerCertificates[0].Verify(o); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}
