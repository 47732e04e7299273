//go:build race

package racetest

// Enabled reports whether the race detector watches this program.
const Enabled = true
