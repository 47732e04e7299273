package verify

import (
	"regexp"
	"strings"

	"taskrun/cmd/report/compare"
	"taskrun/engine/leaf/event"
)

// intended is an intended difference.
type intended struct {
	kind compare.Kind
	name string // a regular expression for the whole name; empty: any
	// nomad and taskrun are regular expressions for the whole values; empty: any.
	nomad, taskrun string
	// all is true if the allocation cannot continue as on the other side, so that
	// all its differences have the same reason.
	all bool
	why string // as in "taskrun help differences"
}

const unhealthy = "whether Nomad still judges the health of an allocation that has failed is chance"

// declared lists the intended differences between a run of Nomad, the first side,
// and of taskrun.
var declared = []intended{
	{kind: compare.File, name: `[^/]+/executor\.out`, why: "taskrun runs no executor process, which writes this log"},
	{kind: compare.File, name: `[^/]+/\.nomad-mount`, why: "no file system is mounted for the directory"},
	{kind: compare.File, nomad: `d.*`, taskrun: `d.*`, why: "directories belong to the user of the task or of taskrun, and no other user can write to them"},
	{kind: compare.TaskEvent, name: event.TaskHookFailed, nomad: `volumes: .* does not support host volumes`, all: true, why: "raw_exec tasks get a link to a volume"},
	{kind: compare.TaskEvent, name: "Failed Artifact Download", nomad: `.+`, taskrun: `.+`, why: "the error is that of another downloader"},
	{kind: compare.TaskEvent, name: "Alloc Unhealthy", why: unhealthy},
	{kind: compare.Health, nomad: `false`, why: unhealthy},
	{kind: compare.Health, taskrun: `false`, why: unhealthy},
	{kind: compare.TaskEvent, taskrun: `Missing: .*|.*Template failed.*`, all: true, why: "missing data fails a task after 10s; Nomad waits forever"},
}

// Declare adds the reasons of intended differences between Nomad, the first side, and
// taskrun.
func Declare(list []compare.Difference) {
	for i := range list {
		of := find(list[i])
		if of == nil {
			continue
		}
		list[i].Why = of.why
		if !of.all {
			continue
		}
		for k, other := range list {
			if other.Job == list[i].Job && other.Group == list[i].Group && other.Index == list[i].Index && other.Why == "" {
				list[k].Why = of.why
			}
		}
	}
}

func find(d compare.Difference) *intended {
	for i, of := range declared {
		if of.kind == d.Kind && matches(of.name, &d.Name) && matches(of.nomad, d.A) && matches(of.taskrun, d.B) {
			return &declared[i]
		}
	}
	return nil
}

// matches reports whether a pattern matches all of a value. An empty one matches anything.
func matches(pattern string, value *string) bool {
	return pattern == "" || value != nil && regexp.MustCompile(`^(?s:`+pattern+`)$`).MatchString(*value)
}

// Align cuts the outputs of tasks that were stopped on both sides to the same number
// of lines: how much they had written by then says nothing.
func Align(a, b *Played) {
	for i, alloc := range a.Run.Allocs {
		if i >= len(b.Run.Allocs) {
			return
		}
		for name, t := range alloc.Tasks {
			other := b.Run.Allocs[i].Tasks[name]
			if other == nil || !t.Stopped || !other.Stopped {
				continue
			}
			for _, stream := range streams {
				key := compare.Key{Kind: compare.Output, Name: stream}
				one, two := strings.Split(t.Values[key], "\n"), strings.Split(other.Values[key], "\n")
				least := min(len(one), len(two))
				t.Values[key], other.Values[key] = strings.Join(one[:least], "\n"), strings.Join(two[:least], "\n")
			}
		}
	}
}
