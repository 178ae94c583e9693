package transcode

// This file reads the text of times and durations, and knows the calendar.

const (
	second        = 1000000000 // nanoseconds
	secondsPerDay = 24 * 60 * 60
	minTimestamp  = -62135596800 // 0001-01-01T00:00:00Z
	maxTimestamp  = 253402300799 // 9999-12-31T23:59:59Z
	maxDuration   = 315576000000 // seconds: 10,000 years
)

// The calendar counts days from 1 March of the year 0, so that the day that a
// leap year adds is the last of its year.
const (
	daysPerEra = 146097 // 400 years
	daysTo1970 = 719468 // from 1 March of the year 0
)

// civil returns the date of a day counted from 1970, from the year 1 on.
func civil(days int64) (year, month, day int) {
	n := int(days) + daysTo1970
	era := n / daysPerEra
	n %= daysPerEra
	y := (n - n/1460 + n/36524 - n/146096) / 365
	n -= 365*y + y/4 - y/100
	m := (5*n + 2) / 153 // from March on
	day = n - (153*m+2)/5 + 1
	year, month = y+400*era, m+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// daysOf is the inverse of civil.
func daysOf(year, month, day int) int64 {
	if month -= 3; month < 0 {
		year, month = year-1, month+12
	}
	era := year / 400
	y := year % 400
	n := 365*y + y/4 - y/100 + (153*month+2)/5 + day - 1
	return int64(era*daysPerEra + n - daysTo1970)
}

// daysIn returns the length of a month.
func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// parseTimestamp reads a time in the form of RFC 3339, in capital letters, with
// at most nine digits of a second.
func parseTimestamp(s []byte) (seconds int64, nanos int32, ok bool) {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) {
		return 0, 0, false
	}
	for i := range len(form) {
		if digit := s[i]-'0' <= 9; digit != (form[i] == '0') || !digit && s[i] != form[i] {
			return 0, 0, false
		}
	}
	number := func(i, n int) (v int) {
		for _, c := range s[i : i+n] {
			v = v*10 + int(c-'0')
		}
		return v
	}
	year, month, day := number(0, 4), number(5, 2), number(8, 2)
	hour, minute, sec := number(11, 2), number(14, 2), number(17, 2)
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || sec > 59 {
		return 0, 0, false
	}
	seconds = daysOf(year, month, day)*secondsPerDay + int64(hour*3600+minute*60+sec)
	nanos, n, ok := parseFraction(s[len(form):])
	if !ok {
		return 0, 0, false
	}
	offset, ok := parseOffset(s[len(form)+n:])
	seconds -= int64(offset)
	return seconds, nanos, ok && seconds >= minTimestamp && seconds <= maxTimestamp
}

// parseOffset reads Z or a distance from it, such as +01:00, in seconds.
func parseOffset(s []byte) (seconds int, ok bool) {
	if string(s) == "Z" {
		return 0, true
	}
	const form = "+00:00"
	if len(s) != len(form) || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	for _, i := range [...]int{1, 2, 4, 5} {
		if s[i]-'0' > 9 {
			return 0, false
		}
	}
	hours, minutes := int(s[1]-'0')*10+int(s[2]-'0'), int(s[4]-'0')*10+int(s[5]-'0')
	seconds = hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, hours < 24 && minutes < 60
}

// parseFraction reads a point and one to nine digits, or nothing.
func parseFraction(s []byte) (nanos int32, n int, ok bool) {
	if len(s) == 0 || s[0] != '.' {
		return 0, 0, true
	}
	unit := int32(second)
	for n = 1; n < len(s) && s[n]-'0' <= 9; n++ {
		if unit /= 10; unit == 0 {
			return 0, 0, false
		}
		nanos += int32(s[n]-'0') * unit
	}
	return nanos, n, n > 1
}

// parseDuration reads seconds with a fraction of at most nine digits and an s.
func parseDuration(s []byte) (seconds int64, nanos int32, ok bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	i := 0
	for i < len(s) && s[i]-'0' <= 9 && seconds <= maxDuration {
		seconds = seconds*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i > 1 && s[0] == '0' || seconds > maxDuration {
		return 0, 0, false
	}
	nanos, n, ok := parseFraction(s[i:])
	if !ok || string(s[i+n:]) != "s" {
		return 0, 0, false
	}
	if negative {
		seconds, nanos = -seconds, -nanos
	}
	return seconds, nanos, true
}
