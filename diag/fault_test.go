package diag_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

func TestAFaultNamesItsPathOutermostFirst(t *testing.T) {
	// The path is added on the way out: price, of element 3, of items.
	f := diag.NewFault(diag.UnexpectedEOF, 17, "8 bytes expected, 2 remain").Field("price").Index(3).Field("items")
	if got, want := f.Path(), "items[3].price"; got != want {
		t.Errorf("Path() = %q, want %q", got, want)
	}
	if got, want := f.Error(), "8 bytes expected, 2 remain at items[3].price (offset 17) [unexpected-eof]"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestAFaultInAMapNamesTheKey(t *testing.T) {
	f := diag.NewFault(diag.OutOfRange, -1, "300 does not fit in i8").Key(`"a"`).Field("counts")
	if got, want := f.Error(), `300 does not fit in i8 at counts["a"] [out-of-range]`; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestAFaultCarriesItsCause(t *testing.T) {
	f := diag.NewFault(diag.UnexpectedEOF, 0, "the message is cut")
	f.Cause = io.ErrUnexpectedEOF
	err := fmt.Errorf("reading: %w", f)
	if !errors.Is(err, io.ErrUnexpectedEOF) || diag.CodeOf(err) != diag.UnexpectedEOF {
		t.Errorf("the cause or the code of %v is lost", err)
	}
	if diag.CodeOf(io.EOF) != 0 || diag.CodeOf(nil) != 0 {
		t.Error("an error that is no Fault has a code")
	}
}

func TestEveryCodeHasAName(t *testing.T) {
	seen := make(map[string]bool)
	for c := diag.UnexpectedEOF; c <= diag.Unsupported; c++ {
		name := c.String()
		if name == "" || seen[name] || name == fmt.Sprintf("code-%d", c) {
			t.Errorf("code %d is named %q", c, name)
		}
		seen[name] = true
	}
	if got := diag.Code(250).String(); got != "code-250" {
		t.Errorf("an unknown code is named %q", got)
	}
}
