package idl

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// This file holds sources: loading, replacing and telling who follows.

// Source is IDL that may change. Its methods are safe for concurrent use.
type Source struct {
	report  func(error)
	current atomic.Pointer[Set]

	mu        sync.Mutex // held while IDL is loaded and handed to followers
	origin    Origin
	files     watched
	followers []*follower
}

type follower struct{ take func(*Set) error }

// Option changes what a Source does.
type Option func(*Source)

// Report sets what is called with the errors that [Source.Watch] meets, which it
// can return to nobody, once for each state of the IDL: the diag.List of IDL
// that is wrong, and what followers return. Without it they go to slog.Default() as
// warnings. It is not called concurrently, and must not call the Source's methods.
func Report(f func(error)) Option { return func(s *Source) { s.report = f } }

// Open loads IDL. The error is a [diag.List] for IDL that is wrong.
func Open(o Origin, opts ...Option) (*Source, error) {
	s := &Source{report: func(err error) { slog.Default().Warn("idl: the schema in use stays", "reason", err) }}
	for _, f := range opts {
		f(s)
	}
	if err := s.Replace(o); err != nil {
		return nil, err
	}
	return s, nil
}

// Set returns what was loaded last.
func (s *Source) Set() *Set { return s.current.Load() }

// Reload reads the IDL anew and hands it to those who follow. IDL that is wrong
// is returned as a [diag.List] and changes nothing. What followers return is joined; those who
// returned nothing have the new Set.
func (s *Source) Reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(s.origin)
}

// Replace is Reload with the IDL of another origin, which replaces the old one
// if it can be loaded.
func (s *Source) Replace(o Origin) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(o)
}

// load loads o. s.mu is held.
func (s *Source) load(o Origin) error {
	files := newWatched()
	roots, loaded, list, err := o.load(files.add)
	if err != nil {
		return err
	}
	files.roots = roots
	set := newSet(loaded, list)
	s.origin, s.files = o, files
	s.current.Store(set)
	var errs []error
	for _, f := range s.followers {
		errs = append(errs, f.take(set))
	}
	return errors.Join(errs...)
}

// Follow calls take with the Set in use, and with each new one, in order and
// before the call that loaded it returns. If the first call fails, its error is
// returned and nothing is followed. stop ends it; it may wait for a call of take. take must not call the
// Source's methods other than Set, nor stop.
func (s *Source) Follow(take func(*Set) error) (stop func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := take(s.current.Load()); err != nil {
		return nil, err
	}
	f := &follower{take}
	s.followers = append(s.followers, f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.followers = slices.DeleteFunc(slices.Clone(s.followers), func(other *follower) bool { return other == f })
	}, nil
}
