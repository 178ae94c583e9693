package idl

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"slices"
	"time"
)

// This file finds out that files have changed.

// Watch looks every interval whether files of the IDL, included ones and new
// ones in a directory among them, have changed, and reloads them if so, until ctx ends. IDL
// that is wrong is reported once and looked at again each time until it can be loaded. An interval
// of less than a millisecond counts as one.
//
// A file is looked at by its size and time of change, and read if these are
// new; only a change of its text counts. Symbolic links are followed each time. A file that appears in a place where an
// include is searched earlier is not noticed.
//
// What a file holds at that moment counts: a .thrift file that an editor truncates before it
// writes it anew may be an empty file, which is valid IDL, until the next look. Writing to a
// temporary file and renaming it avoids that.
func (s *Source) Watch(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(max(interval, time.Millisecond))
	defer ticker.Stop()
	wrong := "" // what is wrong with the IDL, as it was reported
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			loaded, err := s.poll(now, wrong != "")
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != "" && text != wrong {
				s.report(err)
			}
			if wrong = text; loaded {
				wrong = "" // it is the followers' error
			}
		}
	}
}

// poll loads the IDL if it has changed, or again because it could not be
// loaded before. It tells whether the IDL is loaded as it is now.
func (s *Source) poll(now time.Time, again bool) (loaded bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !again {
		roots, err := s.origin.roots()
		if err != nil {
			return false, err
		}
		if slices.Equal(roots, s.files.roots) && !s.files.changed(now) {
			return true, nil
		}
	}
	before := s.current.Load()
	err = s.load(s.origin)
	return s.current.Load() != before, err
}

// watched are the files that a Set was loaded from.
type watched struct {
	roots []string
	files map[string]*stamp // by absolute path
}

// stamp is what is known of a file's text.
type stamp struct {
	hash [sha256.Size]byte
	// size and time are those of the file when its text was known to have the
	// hash. They say that it still has if settled is set: then the time of change was so far back that
	// a later change must have another one.
	size    int64
	time    time.Time
	settled bool
}

// settleTime is more than the resolution of file times anywhere.
const settleTime = 2 * time.Second

func newWatched() watched { return watched{files: map[string]*stamp{}} }

// add notes a file as it was loaded.
func (w *watched) add(path string, text []byte) {
	w.files[path] = &stamp{hash: sha256.Sum256(text)}
}

// changed reports whether a file has another text, or is gone.
func (w *watched) changed(now time.Time) bool {
	for path, s := range w.files {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return true
		}
		if s.settled && info.Size() == s.size && info.ModTime().Equal(s.time) {
			continue
		}
		hash, err := hashFile(path, info.Size())
		if err != nil || hash != s.hash {
			return true
		}
		s.size, s.time, s.settled = info.Size(), info.ModTime(), now.Sub(info.ModTime()) > settleTime
	}
	return false
}

// hashFile returns the hash of a file's text, of at most size bytes and one
// more, which tells that it has grown.
func hashFile(path string, size int64) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
