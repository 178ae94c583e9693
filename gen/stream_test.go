package gen_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

func TestMethodsThatStreamSayWhatBecomesOfTheirExceptions(t *testing.T) {
	file, list := thriftidl.Load("a.thrift", thriftidl.Sources(map[string][]byte{
		"a.thrift": []byte(`namespace go a
struct S {}
exception X {}
service V { S m(1: S s) throws (1: X x) (streaming.mode = "server") }`)}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	files, err := gen.Go(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\t// Streams carry no exceptions: of X clients get the text.\n\tM(ctx context.Context, "; !strings.Contains(string(files[0].Content), want) {
		t.Errorf("not there: %s\n%s", want, files[0].Content)
	}
}
