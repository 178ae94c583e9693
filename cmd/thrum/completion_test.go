package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestShellsCompleteCommandsAndFlags(t *testing.T) {
	words := func(line ...string) []string {
		out, _ := expect(t, exitOK, append([]string{"completion", "words", "--"}, line...)...)
		return strings.Fields(out)
	}
	for _, c := range commands() {
		if !slices.Contains(words(), c.name) || !slices.Contains(words("help"), c.name) {
			t.Errorf("%s is not completed", c.name)
		}
	}
	if got := words("gen", "a.thrift"); !slices.Contains(got, "--prefix") || !slices.Contains(got, "-o") {
		t.Errorf("flags: %v", got)
	}
	if got := words("completion"); !slices.Equal(got, []string{"bash", "fish", "zsh"}) {
		t.Errorf("shells: %v", got)
	}
	if got := words("nothing", "--dialect"); len(got) != 0 {
		t.Errorf("of a command that does not exist: %v", got)
	}
	for _, args := range [][]string{{}, {"tcsh"}, {"bash", "zsh"}} {
		expect(t, exitUsage, append([]string{"completion"}, args...)...)
	}
}

func TestCompletionScriptsAreShell(t *testing.T) {
	for shell := range completionScripts {
		script, _ := expect(t, exitOK, "completion", shell)
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // not on this machine
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

func TestBashCompletesByTheProgram(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	// A function stands for the program; compgen filters what it prints.
	script := "thrum() { echo \"$*\" >&2; printf '%s\\n' call check gen; }\n" + completionScripts["bash"] +
		"COMP_WORDS=(thrum c); COMP_CWORD=1; _thrum; echo \"${COMPREPLY[*]}\""
	out, err := exec.Command(bash, "-c", script).Output()
	if err != nil || strings.TrimSpace(string(out)) != "call check" {
		t.Errorf("got %q, %v", out, err)
	}
}
