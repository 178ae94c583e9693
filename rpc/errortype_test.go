package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

func TestStreamsEndWithTypes(t *testing.T) {
	for want, err := range map[string]error{
		"connection_lost": &stream.Error{Code: stream.Lost},
		"reset":           &stream.Error{Code: stream.Reset, Remote: true, Err: &rpc.ApplicationException{Type: 12007}},
		"LOADSHEDDING":    &stream.Error{Code: stream.Reset, Err: &rpc.ApplicationException{Type: rpc.LoadShedding}},
		"timeout":         &stream.Error{Code: stream.DeadlineExceeded, Err: context.DeadlineExceeded},
	} {
		if got := rpc.ErrorType(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestErrorTypesAreFew(t *testing.T) {
	var none *rpc.ApplicationException
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("x"), rpc.OtherType},
		{none, rpc.OtherType},
		{fmt.Errorf("in: %w", &rpc.BizStatus{Code: 7}), "biz_status"},
		{&rpc.ApplicationException{Type: rpc.UnknownError}, "UNKNOWN"},
		{fmt.Errorf("in: %w", &rpc.ApplicationException{Type: rpc.Timeout}), "TIMEOUT"},
		{&rpc.ApplicationException{Type: 13}, rpc.OtherType},
		{&rpc.ApplicationException{Type: -1}, rpc.OtherType},
		{&rpc.Error{Stage: rpc.StageWait, Err: context.DeadlineExceeded}, "timeout"},
		{&rpc.Error{Stage: rpc.StageWait, Err: context.Canceled}, "canceled"},
		{&rpc.Error{Stage: rpc.StageQueue, Err: rpc.ErrTooManyCalls}, "queue"},
	} {
		if got := rpc.ErrorType(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
