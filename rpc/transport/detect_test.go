package transport

import "testing"

func TestTheFirstBytesTellTheDialect(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		want        Dialect
	}{
		{"strict call", "\x80\x01\x00\x01", Unframed},
		{"framed strict call", "\x00\x00\x00\x20\x80\x01\x00\x01", Framed},
		{"compact", "\x82\x21\x00\x01", UnframedCompact},
		{"fbthrift's compact", "\x82\x22\x00\x01", UnframedCompact},
		{"compact of version 3", "\x82\x23\x00\x01", Unknown},
		{"framed compact", "\x00\x00\x00\x20\x82\x21\x00\x01", FramedCompact},
		{"header", "\x00\x00\x00\x20\x0f\xff\x00\x00", Header},
		{"TTHeader", "\x00\x00\x00\x20\x10\x00\x00\x00", TTHeader},
		{"Kitex Protobuf", "\x00\x00\x00\x20\x90\x01\x00\x00", KitexProtobuf},
		{"tRPC", "\x09\x30\x00\x00", TRPC},
		{"HTTP POST", "POST /", HTTP},
		{"HTTP/2", "PRI * HTTP/2.0", HTTP},
		{"TLS", "\x16\x03\x01\x02\x00\x01", TLS},
		{"SSH", "SSH-2.0-OpenSSH", Unknown},
		{"a negative length", "\xff\xff\xff\xff", Unknown},
		{"a frame of something else", "\x00\x00\x00\x20abcd", Unknown},
		{"non-strict binary", "\x00\x00\x00\x04ping", Unknown},
	} {
		got, ok := Detect([]byte(c.bytes))
		if got != c.want || !ok {
			t.Errorf("%s: %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}

func TestTooFewBytesTellNothing(t *testing.T) {
	frame := "\x00\x00\x00\x20\x80\x01\x00\x01"
	for n := range len(frame) {
		if d, ok := Detect([]byte(frame[:n])); ok {
			t.Errorf("%d bytes were taken for %v", n, d)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x20\x80\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, ok := Detect(b)
		if !ok && len(b) >= DetectBytes {
			t.Fatalf("% x: undecided", b)
		}
		if again, _ := Detect(b[:min(len(b), DetectBytes)]); ok && again != d {
			t.Fatalf("% x: later bytes changed %v to %v", b, again, d)
		}
	})
}

func TestMessagesWithoutAVersionAreToldFromNoise(t *testing.T) {
	for bytes, want := range map[string]Dialect{
		"\x00\x00\x00\x04ping\x01":                                     Unframed,
		"\x00\x00\x00\x03add\x01":                                      Unframed,
		"\x00\x00\x00\x0bShop:cancel":                                  Unframed,
		"\x00\x00\x00\x20\x00\x00\x00\x04":                             Framed,
		"\x00\x00\x00\x0e\x00\x00\x00\x04ping\x01\x00\x00\x00\x01\x00": Framed,
		"\x00\x00\x00\x0d\x00\x00\x00\x04":                             Unknown, // too short for that name
		"\x00\x00\x00\x00\x00\x00\x00\x00":                             Unknown,
		"\x00\x00\x10\x00ping":                                         Unknown,
		"hello, world":                                                 Unknown,
		"\x00\x00":                                                     Unknown,
	} {
		if got := DetectLoose([]byte(bytes)); got != want {
			t.Errorf("% x: %v, want %v", bytes, got, want)
		}
	}
}
