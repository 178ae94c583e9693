package transcode_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func checkFault(t *testing.T, what string, err error, code diag.Code, offset int, path string) {
	t.Helper()
	var f *diag.Fault
	if !errors.As(err, &f) {
		t.Errorf("%s: the error is %v, want code %s", what, err, code)
		return
	}
	if f.Code != code || f.Offset != offset || f.Path() != path {
		t.Errorf("%s: code %s, offset %d, path %q; want %s, %d, %q (%v)", what, f.Code, f.Offset, f.Path(), code, offset, path, err)
	}
}
