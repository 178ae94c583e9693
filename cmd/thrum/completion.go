package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// This file is "thrum completion": scripts by which shells complete commands and flags.

// completionScripts are what each shell needs. They ask the program itself, so that
// what they complete is what this version has. The first completion of zsh calls the
// file itself as the function, which passes it on; a start file that reads it does not.
var completionScripts = map[string]string{
	"bash": `_thrum() {
	local words
	words=$(thrum completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _thrum thrum
`,
	"zsh": `#compdef thrum
_thrum() {
	local -a found
	found=(${(f)"$(thrum completion words -- ${words[2,CURRENT-1]} 2>/dev/null)"})
	compadd -a found
	[[ $words[CURRENT] == -* ]] || _files
}
compdef _thrum thrum
if [[ $funcstack[1] == _thrum ]]; then _thrum; fi
`,
	"fish": `complete -c thrum -a '(thrum completion words -- (commandline -opc)[2..] 2>/dev/null)'
`,
}

func completionCommand() *command {
	return &command{
		name: "completion", args: "bash|zsh|fish",
		summary: "print a script that lets a shell complete commands and flags",
		help: "The script belongs where the shell looks for such, or is read by its start file:\n" +
			"source <(thrum completion bash). It calls the program thrum, found on PATH.",
		examples: []string{
			"thrum completion bash > ~/.local/share/bash-completion/completions/thrum",
			"thrum completion zsh > ~/.zfunc/_thrum",
			"thrum completion fish > ~/.config/fish/completions/thrum.fish",
		},
		setup: func(*flag.FlagSet) func(*environment, []string) error { return completion },
	}
}

func completion(env *environment, args []string) error {
	if len(args) > 0 && args[0] == "words" {
		return printWords(env.stdout, args[1:])
	}
	if len(args) != 1 {
		return usageError("the name of one shell is needed")
	}
	script, ok := completionScripts[args[0]]
	if !ok {
		return usageError(fmt.Sprintf("there is no script for %q; there are bash, fish and zsh", args[0]))
	}
	_, err := io.WriteString(env.stdout, script)
	return err
}

// printWords prints what may stand behind the words of a command line, without files, one a line.
func printWords(w io.Writer, line []string) error {
	var words []string
	switch {
	case len(line) == 0 || len(line) == 1 && line[0] == "help":
		for _, c := range commands() {
			words = append(words, c.name)
		}
		words = append(words, "help")
	case find(line[0]) != nil:
		fs := flag.NewFlagSet(line[0], flag.ContinueOnError)
		find(line[0]).setup(fs)
		fs.VisitAll(func(f *flag.Flag) { words = append(words, dashed(f.Name)) })
		if line[0] == "completion" {
			words = []string{"bash", "fish", "zsh"}
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(words, "\n"))
	return err
}
