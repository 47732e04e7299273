package compare

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// Options say what counts as a difference.
type Options struct {
	// Factor is by how much a duration must be longer to count; 0: durations do not
	// count.
	Factor float64
	// Least is by how much it must be longer at least.
	Least time.Duration
	// Slack is by how much a task must start too early to count: a server reads the
	// clock some time before or after things happen.
	Slack time.Duration
}

// Defaults are the options for runs on one machine.
var Defaults = Options{Factor: 2, Least: 300 * time.Millisecond}

// keys returns the keys of both maps, each once.
func keys[K comparable, V any](a, b map[K]V) iter.Seq[K] {
	all := map[K]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return maps.Keys(all)
}

// comparison collects differences.
type comparison struct {
	Options
	a, b *Run
	list []Difference
}

func (c *comparison) add(d Difference) { c.list = append(c.list, d) }

// lacks reports whether one of the runs knows nothing about a kind.
func (c *comparison) lacks(k Kind) bool {
	return slices.Contains(c.a.Lacks, k) || slices.Contains(c.b.Lacks, k)
}
