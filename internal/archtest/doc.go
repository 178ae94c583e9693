// Package archtest states the rules of this repository as tests: which package
// may import which, where unsafe and assembly may stand, and what no file may
// hold. [House] is the table of the rules; a change of the architecture is a
// change of that table.
//
// The package reads source text only. It needs no network, no compiled
// packages and no Go command, and it must not import the packages it judges.
package archtest
