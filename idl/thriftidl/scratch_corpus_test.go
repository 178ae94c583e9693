package thriftidl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCorpusScratch(t *testing.T) {
	root := os.Getenv("IDLCORP")
	if root == "" {
		t.Skip()
	}
	var dirs []string
	if d := os.Getenv("IDLDIRS"); d != "" {
		dirs = strings.Split(d, ":")
	}
	ok, bad := 0, 0
	filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".thrift") {
			return nil
		}
		_, list := Load(p, IncludeDirs(dirs...))
		if list.Err() != nil {
			bad++
			n := 0
			for _, d := range list {
				if d.Severity == 0 && n < 3 {
					n++
					fmt.Printf("%s\n", strings.ReplaceAll(d.String(), root, ""))
				}
			}
		} else {
			ok++
		}
		return nil
	})
	fmt.Println("ok", ok, "bad", bad)
}
