// Package certs keeps the certificates of TLS servers and clients, and takes
// new ones from disk while they run.
//
// A [Store] is loaded from PEM files. Its ServerConfig and ClientConfig are ordinary
// *tls.Config values that ask the store at every handshake, so that after [Store.Reload], which [Store.Watch] calls
// when a file has changed, new connections use the new certificates, keys and
// authorities, and connections that stand go on. Files that make no sense change nothing.
//
// The package must not know what is spoken inside TLS.
package certs
