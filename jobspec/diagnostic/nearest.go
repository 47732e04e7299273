package diagnostic

import (
	"fmt"
	"strings"
)

// Nearest returns the known name that name is most likely a misspelling of, in
// any case, or "" if none is near enough.
func Nearest(name string, known []string) string {
	best, distance := "", min(len(name)/3, maxSlips)
	if len(name) > maxName || len(known) > maxKnown {
		return ""
	}
	lower := strings.ToLower(name)
	for _, candidate := range known {
		if candidate == name {
			continue
		}
		d := slips(lower, strings.ToLower(candidate))
		if d < distance || d == distance && (best == "" || candidate < best) {
			best, distance = candidate, d
		}
	}
	return best
}

// DidYouMean returns `did you mean "x"?` for the nearest known name, or "" if
// none is near.
func DidYouMean(written string, known []string) string {
	if near := Nearest(written, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

const (
	maxName  = 64   // bytes; longer names are not compared
	maxSlips = 2    // more make it another name
	maxKnown = 1000 // comparing more names takes too long
)

// slips returns the least number of letters to insert, delete, change or swap
// with their neighbor to get from a to b.
func slips(a, b string) int {
	if d := len(a) - len(b); d > maxSlips || -d > maxSlips {
		return maxSlips + 1
	}
	n := len(b) + 1
	rows := make([]int, 3*n)
	before, last, this := rows[:n], rows[n:2*n], rows[2*n:]
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		this[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			this[j+1] = min(last[j+1]+1, this[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				this[j+1] = min(this[j+1], before[j-1]+1)
			}
		}
		before, last, this = last, this, before
	}
	return last[len(b)]
}
