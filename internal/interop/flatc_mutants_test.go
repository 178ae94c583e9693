package interop

// Rules of idl/fbsidl with a word or two changed: flatc and we still agree.

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

var fbsWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9a-fx.]*|"[^"\n]*"|\s+|.`)

// classOf tells words apart that may stand for each other.
func classOf(word string) byte {
	switch c := word[0]; {
	case c >= '0' && c <= '9':
		return '0'
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		return 'a'
	default:
		return c
	}
}

// mutate changes a word, leaves one out, puts one in or swaps two.
func mutate(r *rand.Rand, words []string, pool map[byte][]string) []string {
	words = slices.Clone(words)
	i, j := r.IntN(len(words)), r.IntN(len(words))
	switch like := pool[classOf(words[i])]; r.IntN(9) {
	case 0:
		return slices.Delete(words, i, i+1)
	case 1:
		return slices.Insert(words, i, like[r.IntN(len(like))], " ")
	case 2:
		words[i], words[j] = words[j], words[i]
	default:
		words[i] = like[r.IntN(len(like))]
	}
	return words
}

func TestFlatcAgreesOnMutatedRules(t *testing.T) {
	compiler := flatc(t)
	var bases [][]string
	pool := make(map[byte][]string)
	knownDifferences := make(map[string]bool) // the codes of rules that only we have, or only flatc
	for _, r := range fbsRules(t) {
		if r.verdict == "strict" || r.verdict == "lenient" {
			knownDifferences[r.code] = true
		}
		if text := r.files["main.fbs"]; len(r.files) == 1 && len(text) < 400 && r.verdict == "accept" {
			words := fbsWord.FindAllString(text, -1)
			bases = append(bases, words)
			for _, w := range words {
				pool[classOf(w)] = append(pool[classOf(w)], w)
			}
		}
	}
	n := 2000
	if testing.Short() {
		n = 200
	}
	random := rand.New(rand.NewPCG(25, 12)) // the same mutants each time
	dir := t.TempDir()
	path := filepath.Join(dir, "main.fbs")
	accepted := 0
	for range n {
		words := mutate(random, bases[random.IntN(len(bases))], pool)
		if len(words) > 0 && random.IntN(2) == 0 {
			words = mutate(random, words, pool)
		}
		text := strings.Join(words, "")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		output, theirs := compile(compiler, dir, path)
		_, list := fbsidl.Load(path)
		known := slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return knownDifferences[d.Code] })
		if ours := list.Err() == nil; ours != theirs && !known {
			t.Errorf("flatc accepts it: %t, Thrum does: %t\n%s\n%s%v", theirs, ours, text, output, list)
		}
		if theirs {
			accepted++
		}
	}
	if accepted < n/20 {
		t.Errorf("only %d of %d accepted", accepted, n)
	}
}
