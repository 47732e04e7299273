//go:build !race

// Package racetest knows the race detector, which makes a program up to ten times
// slower: tests of much work that nothing shares leave it out, or do less.
package racetest

// Enabled reports whether the race detector watches this program.
const Enabled = false
