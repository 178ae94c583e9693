package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
)

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
