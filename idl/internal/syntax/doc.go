// Package syntax has what the lexers and parsers of IDL share: a place in a text and what
// is read there whatever the language, and tokens with the way through them and the
// reports of what was expected. Words, numbers and strings are those of each language, and not known here.
package syntax
