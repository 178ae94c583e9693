package dynamicsuite

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/same"
)

// This file holds what takes part in the suite, and the comparing of results.

// op does a piece of work once.
type op func() error

// job is a piece of work that is ready, with memory of its own.
type job struct {
	run op
	// result is what came of the last run, rendered as bytes where it is not; nil
	// for work that has no result to compare.
	result func() ([][]byte, error)
}

// contender is one way to do the works of the suite on a shape; it may leave
// works out. Its functions make a job each.
type contender struct {
	name string
	jobs map[string]func() (job, error)
}

// bytesJob is a job whose result is the bytes that run returns.
func bytesJob(run func() ([]byte, error)) job {
	var out [1][]byte
	return job{
		run: func() (err error) {
			out[0], err = run()
			return err
		},
		result: func() ([][]byte, error) { return out[:], nil },
	}
}

// contestant is a contender as the harness takes it.
func contestant(name string, make func() (job, error)) harness.Contestant {
	return harness.Contestant{Name: name, New: func() (harness.Worker, error) {
		j, err := make()
		return func(n int) error {
			for range n {
				if err := j.run(); err != nil {
					return err
				}
			}
			return nil
		}, err
	}}
}

// compare runs both twice, so that memory is reused, and compares the results.
func compare(us, them func() (job, error), message bool) error {
	a, err := results(us, message)
	if err != nil {
		return fmt.Errorf("ours: %w", err)
	}
	b, err := results(them, message)
	if err != nil {
		return fmt.Errorf("theirs: %w", err)
	}
	if a == nil || b == nil {
		return nil
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d results and %d", len(a), len(b))
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Errorf("result %d differs: %d and %d bytes, %.100x and %.100x", i, len(a[i]), len(b[i]), a[i], b[i])
		}
	}
	return nil
}

// results runs a job twice and returns what came of it; messages are made
// canonical, for the order of fields and entries may differ.
func results(make func() (job, error), message bool) ([][]byte, error) {
	j, err := make()
	if err != nil {
		return nil, err
	}
	for range 2 {
		if err := j.run(); err != nil {
			return nil, err
		}
	}
	if j.result == nil {
		return nil, nil
	}
	all, err := j.result()
	if err != nil || !message {
		return all, err
	}
	var out [][]byte
	for _, b := range all {
		b, err := same.Message(b)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
