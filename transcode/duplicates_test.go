package transcode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/transcode"
)

func TestKeysThatStandTwiceAreFoundInAnyOrder(t *testing.T) {
	d := parseIDL(t, `struct S { 1: map<string, i32> text, 2: map<i64, i32> number, 3: set<string> set }`).Struct("S")
	c := converter(t, d)
	loose := converter(t, d, transcode.AllowDuplicates())
	for _, size := range []int{2, 12, 13, 100} {
		for _, order := range []func(i int) int{func(i int) int { return i }, func(i int) int { return size - i }, func(i int) int { return i * 37 % 101 }} {
			for twice := -1; twice < size; twice += 1 + size/5 {
				var text, number, set []string
				for i := range size {
					text = append(text, fmt.Sprintf(`"%03d":1`, order(i)))
					number = append(number, fmt.Sprintf(`"%d":1`, order(i)))
					set = append(set, fmt.Sprintf(`"k%d"`, order(i)))
				}
				if twice >= 0 {
					text, number, set = append(text, text[twice]), append(number, number[twice]), append(set, set[twice])
				}
				for _, json := range []string{`{"text":{` + strings.Join(text, ",") + `}}`, `{"number":{` + strings.Join(number, ",") + `}}`, `{"set":[` + strings.Join(set, ",") + `]}`} {
					_, err := c.AppendThrift(nil, []byte(json))
					if (diag.CodeOf(err) == diag.DuplicateKey) != (twice >= 0) || err != nil && twice < 0 {
						t.Errorf("%.60s with key %d twice: %v", json, twice, err)
					}
					thrift, err := loose.AppendThrift(nil, []byte(json))
					if err != nil {
						t.Fatal(err)
					}
					if _, _, err = c.AppendJSON(nil, thrift); (diag.CodeOf(err) == diag.DuplicateKey) != (twice >= 0 && !strings.HasPrefix(json, `{"set"`)) {
						t.Errorf("%x with key %d twice: %v", thrift, twice, err)
					}
				}
			}
		}
	}
}
