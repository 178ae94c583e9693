package transcode

// This file holds the sets of fields that tell which ones of a struct a
// conversion has met.

// fields is the set of the fields of one struct that have stood, and among
// them of those that stood as null. The first 64 fields live in a word each,
// the others in scratch memory: first their words of the set, then those of nulls.
type fields struct {
	word, nulls uint64
	wide        int // where the others start in scratch.wide
}

// wideWords returns how many words hold n fields after the first 64.
func wideWords(n int) int { return (n - 1) / 64 }

// open starts the set of a struct's n fields.
func (s *state) open(n int) fields {
	f := fields{}
	if n > 64 {
		m := s.memory()
		f.wide = len(m.wide)
		for range 2 * wideWords(n) {
			m.wide = append(m.wide, 0)
		}
	}
	return f
}

// mark adds field i and reports whether it had been there before.
func (s *state) mark(f *fields, i int) bool {
	w := &f.word
	if i >= 64 {
		w = &s.mem.wide[f.wide+i/64-1]
	}
	bit := uint64(1) << (i & 63)
	was := *w&bit != 0
	*w |= bit
	return was
}

// markNull notes that field i of n, which is in the set, stood as null.
func (s *state) markNull(f *fields, n, i int) {
	w := &f.nulls
	if i >= 64 {
		w = &s.mem.wide[f.wide+wideWords(n)+i/64-1]
	}
	*w |= 1 << (i & 63)
}

// has reports whether field i of n is in the set with a value.
func (s *state) has(f *fields, n, i int) bool {
	return s.present(f, n, i/64)>>(i&63)&1 != 0
}

// present returns word i of those of n fields in the set that have a value.
func (s *state) present(f *fields, n, i int) uint64 {
	if i == 0 {
		return f.word &^ f.nulls
	}
	return s.mem.wide[f.wide+i-1] &^ s.mem.wide[f.wide+wideWords(n)+i-1]
}

// drop ends the set of n fields.
func (s *state) drop(f *fields, n int) {
	if n > 64 {
		s.mem.wide = s.mem.wide[:f.wide]
	}
}
