package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// This file holds JSON with placeholders.

// template is text with placeholders: pieces of text and what stands between them.
type template struct {
	texts  []string // one more than values
	values []func(b []byte, seq int, rng *rand.Rand) []byte
}

// parseTemplate finds the placeholders in text.
func parseTemplate(text string) (*template, error) {
	t := new(template)
	for {
		before, rest, ok := strings.Cut(text, "{{")
		t.texts = append(t.texts, before)
		if !ok {
			return t, nil
		}
		inside, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fmt.Errorf("a placeholder has no end: {{%s", clip([]byte(rest)))
		}
		value, err := placeholder(strings.Fields(inside))
		if err != nil {
			return nil, fmt.Errorf("placeholder {{%s}}: %w", inside, err)
		}
		t.values = append(t.values, value)
		text = after
	}
}

// maxText is the longest random text.
const maxText = 16 << 20

// placeholder returns what writes the values of a placeholder.
func placeholder(words []string) (func(b []byte, seq int, rng *rand.Rand) []byte, error) {
	name := ""
	if len(words) > 0 {
		name, words = words[0], words[1:]
	}
	switch {
	case name == "seq" && len(words) == 0:
		return func(b []byte, seq int, _ *rand.Rand) []byte { return strconv.AppendInt(b, int64(seq), 10) }, nil
	case name == "uuid" && len(words) == 0:
		return appendUUID, nil
	case name == "pick" && len(words) > 0:
		return func(b []byte, _ int, rng *rand.Rand) []byte { return append(b, words[rng.IntN(len(words))]...) }, nil
	case name == "rand" && len(words) == 2:
		low, err1 := strconv.ParseInt(words[0], 10, 64)
		high, err2 := strconv.ParseInt(words[1], 10, 64)
		if err1 != nil || err2 != nil || low > high {
			return nil, fmt.Errorf("%s and %s are not a lower and an upper integer", words[0], words[1])
		}
		return func(b []byte, _ int, rng *rand.Rand) []byte {
			offset := rng.Uint64()
			if n := uint64(high-low) + 1; n != 0 {
				offset = rng.Uint64N(n)
			}
			return strconv.AppendInt(b, low+int64(offset), 10)
		}, nil
	case name == "text" && len(words) == 1:
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 0 || n > maxText {
			return nil, fmt.Errorf("%s is not a length of at most %d", words[0], maxText)
		}
		return func(b []byte, _ int, rng *rand.Rand) []byte {
			for range n {
				b = append(b, byte('a'+rng.IntN(26)))
			}
			return b
		}, nil
	}
	for _, form := range []string{"seq", "uuid", "pick A B …", "rand A B", "text N"} {
		if known, _, _ := strings.Cut(form, " "); known == name {
			return nil, fmt.Errorf("it has the form {{%s}}", form)
		}
	}
	return nil, fmt.Errorf("there is no %q%s", name, instead(name, []string{"seq", "uuid", "pick", "rand", "text"}))
}

// appendUUID appends a random UUID (version 4).
func appendUUID(b []byte, _ int, rng *rand.Rand) []byte {
	high, low := rng.Uint64(), rng.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	return fmt.Appendf(b, "%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// varies reports whether there are placeholders.
func (t *template) varies() bool { return len(t.values) > 0 }

// fill returns the text with values in it. seq is the number of the text.
func (t *template) fill(seq int, rng *rand.Rand) []byte {
	b := []byte(t.texts[0])
	for i, value := range t.values {
		b = append(value(b, seq, rng), t.texts[i+1]...)
	}
	return b
}

// clip shortens text for a message.
func clip(text []byte) string {
	const most = 200
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "…"
}
