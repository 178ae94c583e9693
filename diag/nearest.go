package diag

// This file guesses what was meant by a name that does not exist.

// Nearest returns the candidate that name was probably meant to be, or "". It
// does not look among very many, nor for very long names.
func Nearest(name string, candidates []string) string {
	const maxName, maxCandidates = 64, 2000
	if len(name) == 0 || len(name) > maxName || len(candidates) > maxCandidates {
		return ""
	}
	best, bestDistance := "", 1+(len(name)+1)/3
	for _, c := range candidates {
		if c == name || len(c) > maxName {
			continue
		}
		// Of two that are equally near the first in the alphabet is taken, as the
		// candidates come in any order.
		if d := distance(name, c, bestDistance+1); d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap to turn a
// into b, letters of another case counting as equal; limit is returned for
// all that is not smaller.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	lower := func(c byte) byte {
		if c >= 'A' && c <= 'Z' {
			return c | 0x20
		}
		return c
	}
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if lower(a[i]) == lower(b[j]) {
				change = 0
			}
			row[j+1] = min(row[j]+1, prev[j+1]+1, prev[j]+change)
			if i > 0 && j > 0 && lower(a[i]) == lower(b[j-1]) && lower(a[i-1]) == lower(b[j]) {
				row[j+1] = min(row[j+1], prev2[j-1]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return min(prev[len(b)], limit)
}
