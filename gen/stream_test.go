package gen_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

func TestWhatCannotStreamIsReported(t *testing.T) {
	for source, want := range map[string]string{
		`i64 m(1: S s) (streaming.mode = "server")`:               "takes one struct and returns one",
		`S m(1: i64 n) (streaming.mode = "client")`:               "takes one struct and returns one",
		`S m(1: S a, 2: S b) (streaming.mode = "bidirectional")`:  "takes one struct and returns one",
		`S m() (streaming.mode = "server")`:                       "takes one struct and returns one",
		`void m(1: S s) (streaming.mode = "server")`:              "takes one struct and returns one",
		`S m(1: S s) throws (1: X x) (streaming.mode = "server")`: "without exceptions",
		`oneway void m(1: S s) (streaming.mode = "client")`:       "takes one struct and returns one",
		`S m(1: S s) (streaming.mode = "both")`:                   "there is no streaming.mode both",
	} {
		file, list := thriftidl.Load("a.thrift", thriftidl.Sources(map[string][]byte{
			"a.thrift": []byte("namespace go a\nstruct S {}\nexception X {}\nservice V { " + source + " }\n")}))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := gen.Go(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}
