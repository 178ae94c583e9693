package jsonwire

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"testing"
)

// The assembly and its twins in plain Go do the same to every text, whatever
// stands around it.
func TestKernelsDoWhatPlainGoDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	special := []byte("\"\\\x00\x1f\n\x80\xff\x7f !#[]")
	for range 50000 {
		text := bytes.Repeat([]byte{'a'}, r.IntN(80))
		for range r.IntN(4) {
			if len(text) > 0 {
				text[r.IntN(len(text))] = special[r.IntN(len(special))]
			}
		}
		i := r.IntN(len(text) + 1)
		end, ascii := run(text, i)
		if wantEnd, want := plainRun(text, i); end != wantEnd || ascii != want {
			t.Fatalf("run(%q, %d) = %d, %t; want %d, %t", text, i, end, ascii, wantEnd, want)
		}
		room := r.IntN(80)
		got, want := bytes.Repeat([]byte{'-'}, room+8), bytes.Repeat([]byte{'-'}, room)
		used := r.IntN(room + 1)
		n, ascii := copyRun(got[:used:room], text, i)
		wantN, wantASCII := plainCopyRun(want[:used], text, i)
		if n != wantN || ascii != wantASCII || !bytes.Equal(got[:used+n], want[:used+n]) || !bytes.Equal(got[used:used+n], text[i:i+n]) {
			t.Fatalf("copyRun(%d bytes, %q) = %d, %t, %q; want %d, %t", room, text, n, ascii, got, wantN, wantASCII)
		}
		if string(got[room:]) != "--------" {
			t.Fatalf("copyRun(%d bytes, %q) writes past its room: %q", room, text, got)
		}
	}
}

func TestBase64KernelsStayInTheirRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50000 {
		raw := make([]byte, r.IntN(80))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		want := base64.StdEncoding.EncodeToString(raw)
		out := bytes.Repeat([]byte{'.'}, len(want)+8)
		n := encodeSome(out[:len(want)], raw)
		if n%3 != 0 || n > len(raw) || string(out[:n/3*4]) != want[:n/3*4] || string(out[len(want):]) != "........" {
			t.Fatalf("%x is written as %q up to %d, want %q", raw, out, n, want)
		}
		text := []byte(want)
		if len(text) > 0 && r.IntN(2) == 0 {
			text[r.IntN(len(text))] = byte(r.Uint32())
		}
		room := len(text)/4*3 + 4
		out = bytes.Repeat([]byte{'.'}, room+8)
		n = decodeSome(out[:room], text)
		if back, err := base64.StdEncoding.DecodeString(string(text[:n])); n%4 != 0 || err != nil || !bytes.Equal(out[:n/4*3], back) {
			t.Fatalf("%q is read as %x up to %d, want %x (%v)", text, out, n, back, err)
		}
		if string(out[room:]) != "........" {
			t.Fatalf("%q is read past its room: %q", text, out)
		}
	}
}
