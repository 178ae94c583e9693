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

// wideWords returns how many words hold the fields of t after the first 64.
func wideWords(t *structTable) int { return (len(t.fields) - 1) / 64 }

// open starts the set of t's fields.
func (s *state) open(t *structTable) fields {
	f := fields{}
	if len(t.fields) > 64 {
		m := s.memory()
		f.wide = len(m.wide)
		for range 2 * wideWords(t) {
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

// markNull notes that field i of t, which is in the set, stood as null.
func (s *state) markNull(f *fields, t *structTable, i int) {
	w := &f.nulls
	if i >= 64 {
		w = &s.mem.wide[f.wide+wideWords(t)+i/64-1]
	}
	*w |= 1 << (i & 63)
}

// present returns word i of those in the set that have a value.
func (s *state) present(f *fields, t *structTable, i int) uint64 {
	if i == 0 {
		return f.word &^ f.nulls
	}
	return s.mem.wide[f.wide+i-1] &^ s.mem.wide[f.wide+wideWords(t)+i-1]
}

// drop ends the set.
func (s *state) drop(f *fields, t *structTable) {
	if len(t.fields) > 64 {
		s.mem.wide = s.mem.wide[:f.wide]
	}
}
