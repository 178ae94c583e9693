package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// This file writes files that appear only once they are complete.

// output is standard output, or a file under another name until commit.
type output struct {
	io.Writer
	file   *os.File // nil for standard output and what is no regular file
	path   string   // where the file goes
	device *os.File // what is no regular file
}

// spare returns an error if one of the outputs is one of the files that the command reads, under
// whatever name: it would be lost.
func spare(inputs []string, outputs ...string) error {
	for _, out := range outputs {
		there, err := os.Stat(out)
		if err != nil || !there.Mode().IsRegular() {
			continue
		}
		for _, in := range inputs {
			if info, err := os.Stat(in); err == nil && os.SameFile(info, there) {
				return fmt.Errorf("%s would be written over, and it is an input", out)
			}
		}
	}
	return nil
}

// createOutput creates the output that the arguments name, or takes standard output.
func createOutput(env *environment, args []string) (*output, error) {
	if len(args) == 0 || args[0] == "-" {
		return &output{Writer: env.stdout}, nil
	}
	path := args[0]
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the file is replaced, not the link
	}
	mode := os.FileMode(0o666)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular(): // such as /dev/null or a named pipe
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &output{Writer: f, device: f}, err
	case err == nil:
		mode = info.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.part", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	var failed *os.PathError
	if errors.As(err, &failed) && !errors.Is(err, os.ErrExist) {
		failed.Path = path // the other name is none that the user knows
	}
	if err != nil {
		return nil, err
	}
	return &output{Writer: f, file: f, path: path}, nil
}

// writerAt returns the file, in which any place can be written, or nil.
func (o *output) writerAt() io.WriterAt {
	if o.file == nil {
		return nil
	}
	return o.file
}

// commit puts the file under its name.
func (o *output) commit() error {
	if o.device != nil {
		return o.device.Close()
	}
	if o.file == nil {
		return nil
	}
	f := o.file
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), o.path); err != nil {
		return err
	}
	o.file = nil
	return nil
}

// discard removes a file that was not committed.
func (o *output) discard() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}
