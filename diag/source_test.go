package diag_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
)

func TestPositionsCountLinesAndCodePoints(t *testing.T) {
	src := diag.NewSource("f", []byte("a\nbc\r\nd\re\n\nä世z\n"))
	for _, c := range []struct{ offset, line, column int }{
		{0, 1, 1}, {1, 1, 2}, // the end of a line belongs to it
		{2, 2, 1}, {3, 2, 2}, {4, 2, 3}, {5, 2, 4},
		{6, 3, 1}, {8, 4, 1}, // a lone CR ends a line
		{10, 5, 1}, {11, 6, 1},
		{13, 6, 2}, {16, 6, 3},
		{18, 7, 1}, // after the last end of line
		{-5, 1, 1}, {99, 7, 1},
	} {
		got := src.Position(c.offset)
		if got.Line != c.line || got.Column != c.column || got.File != "f" {
			t.Errorf("offset %d is at %s, want %d:%d", c.offset, got, c.line, c.column)
		}
	}
}

func TestASpanHasItsText(t *testing.T) {
	src := diag.NewSource("f", []byte("hello world"))
	s := diag.Span{Source: src, Start: 6, End: 11}
	if string(s.Text()) != "world" || s.IsZero() {
		t.Errorf("Text() = %q, IsZero() = %t", s.Text(), s.IsZero())
	}
	var zero diag.Span
	if zero.Text() != nil || !zero.IsZero() || zero.Position().String() != "-" {
		t.Errorf("the zero span is at %s", zero.Position())
	}
}

func TestAPositionIsWrittenAsPeopleKnowIt(t *testing.T) {
	for _, c := range []struct {
		pos  diag.Position
		want string
	}{
		{diag.Position{File: "a.thrift", Line: 3, Column: 7}, "a.thrift:3:7"},
		{diag.Position{File: "a.thrift"}, "a.thrift"},
		{diag.Position{}, "-"},
	} {
		if got := c.pos.String(); got != c.want {
			t.Errorf("%#v is written %q, want %q", c.pos, got, c.want)
		}
	}
}
