//go:build !unix

package rpc

import "errors"

// rawSockets tells that connections are read and written by package net alone.
const rawSockets = false

func readSome(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writeSome(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
