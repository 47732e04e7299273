package compare

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
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

// place is a run as a whole, an allocation or a task.
type place struct {
	values map[Key]string
	alloc  *Alloc // with its tasks
	task   *Task
}

// Compare returns the differences between two runs, in the order of jobs, groups,
// allocations and tasks. It is empty for equal runs, and exchanging the runs
// exchanges the sides of each difference.
func Compare(a, b *Run, o Options) (list []Difference) {
	single := jobs(a) <= 1 && jobs(b) <= 1
	as, bs := places(a, single), places(b, single)
	c := comparison{Options: o, a: a, b: b}
	for _, w := range slices.SortedFunc(keys(as, bs), Where.compare) {
		pa, pb := as[w], bs[w]
		if pa == nil || pb == nil {
			c.exists(w, pa, pb, as, bs)
			continue
		}
		c.values(w, pa.values, pb.values)
		if w == (Where{}) {
			c.duration(w, inTotal, a.Took, b.Took, Unknown, Unknown)
		}
		if pa.task != nil {
			c.events(w, pa.task, pb.task)
			c.durations(w, pa.task, pb.task)
		}
		if pa.alloc != nil {
			c.order(w, pa.alloc, pb.alloc)
		}
	}
	return c.list
}

// NotCompared returns the kinds of differences that were not looked for, because
// only one of the runs knows something about them.
func NotCompared(a, b *Run) (kinds []Kind) {
	for k := range rank {
		if slices.Contains(a.Lacks, k) != slices.Contains(b.Lacks, k) {
			kinds = append(kinds, k)
		}
	}
	return slices.SortedFunc(slices.Values(kinds), func(k, l Kind) int { return cmp.Compare(rank[k], rank[l]) })
}

func jobs(r *Run) int {
	names := map[string]bool{}
	for _, a := range r.Allocs {
		names[a.Job] = true
	}
	return len(names)
}

// places returns the places of a run. Without single, jobs are part of them.
func places(r *Run, single bool) map[Where]*place {
	all := map[Where]*place{{}: {values: maps.Clone(r.Values)}}
	job := func(name string) string {
		if single {
			return ""
		}
		return name
	}
	number := map[string]int{}
	for _, d := range r.Deployments {
		w := Where{Job: job(d.Job)}
		if all[w] == nil {
			all[w] = &place{}
		}
		if all[w].values == nil {
			all[w].values = map[Key]string{}
		}
		all[w].values[Key{Deployments, fmt.Sprint(number[w.Job])}] = d.Status
		number[w.Job]++
	}
	generation := map[Where]int{}
	for _, a := range r.Allocs {
		w := Where{Job: job(a.Job), Group: a.Group, Index: a.Index}
		generation[w]++
		w.Generation = generation[w] - 1
		all[w] = &place{values: a.Values, alloc: a}
		for name, t := range a.Tasks {
			w.Task = name
			all[w] = &place{values: t.Values, task: t}
		}
	}
	return all
}

func (w Where) compare(v Where) int {
	return cmp.Or(strings.Compare(w.Job, v.Job), strings.Compare(w.Group, v.Group), cmp.Compare(w.Index, v.Index),
		cmp.Compare(w.Generation, v.Generation), strings.Compare(w.Task, v.Task))
}

// exists adds that one side is missing. The tasks of a missing allocation are
// missing with it.
func (c *comparison) exists(w Where, a, b *place, as, bs map[Where]*place) {
	d := Difference{Where: w, Key: Key{Kind: Existence}, AtA: Unknown, AtB: Unknown}
	alloc := w
	alloc.Task = ""
	if w.Task != "" && (as[alloc] == nil || bs[alloc] == nil) {
		return
	}
	d.A, d.AtA = a.outline()
	d.B, d.AtB = b.outline()
	c.add(d)
}

// outline describes an allocation or a task that the other run does not have.
func (p *place) outline() (*string, time.Duration) {
	if p == nil {
		return nil, Unknown
	}
	at := Unknown
	var words []string
	switch {
	case p.task != nil:
		at = p.task.Started
		words = append(words, p.values[Key{Kind: State}])
		if code, ok := p.values[Key{Kind: ExitCode}]; ok {
			words = append(words, "exit code "+code)
		}
	case p.alloc != nil:
		words = append(words, p.values[Key{Kind: Status}])
		for _, t := range p.alloc.Tasks {
			if t.Received >= 0 && (at < 0 || t.Received < at) {
				at = t.Received
			}
		}
	}
	text := strings.Join(words, ", ")
	return &text, at
}

// values adds the values that differ.
func (c *comparison) values(w Where, a, b map[Key]string) {
	none := map[Kind]bool{Variable: !hasKind(a, Variable) || !hasKind(b, Variable)} // of a task that was not started
	for _, k := range slices.SortedFunc(keys(a, b), Key.compare) {
		va, inA := a[k]
		vb, inB := b[k]
		if inA == inB && va == vb || none[k.Kind] || c.lacks(k.Kind) {
			continue
		}
		d := Difference{Where: w, Key: k, AtA: Unknown, AtB: Unknown}
		if inA {
			d.A = &va
		}
		if inB {
			d.B = &vb
		}
		c.add(d)
	}
}

func hasKind(values map[Key]string, kind Kind) bool {
	for k := range values {
		if k.Kind == kind {
			return true
		}
	}
	return false
}

// rank is the order in which kinds are shown: how something ended first.
var rank = func() map[Kind]int {
	ranks := map[Kind]int{}
	for i, k := range []Kind{
		Outcome, Deployments, Command, Existence, Status, Health, Replacement, Service, Check, State, Failed, ExitCode, Restarts,
		TaskEvent, Order, Duration, Variable, Template, File, Output, Server,
	} {
		ranks[k] = i
	}
	return ranks
}()

func (k Key) compare(l Key) int {
	return cmp.Or(cmp.Compare(rank[k.Kind], rank[l.Kind]), strings.Compare(string(k.Kind), string(l.Kind)), strings.Compare(k.Name, l.Name))
}
