package stub

import (
	"fmt"

	"taskrun/jobspec"
	"taskrun/jobspec/glob"
)

// Watch says what happens with a task while the files that it is made of change.
type Watch struct {
	Dir    string   // absolute: paths are relative to it, and the build runs in it
	Paths  []string // patterns, see glob.Match
	Ignore []string // patterns, see glob.Ignored
	Build  []string // command and arguments; empty: there is no build
	Change Change
	Signal string // for the change "signal"
	At     jobspec.Range
}

// Change is what a task does when its files have changed.
type Change string

// The changes, named as the change_mode of templates.
const (
	ChangeRestart Change = "restart"
	ChangeSignal  Change = "signal"
	ChangeNoop    Change = "noop"
)

// watches reads the watch blocks of a task.
func (p *parser) watches(forms []*watchForm) (list []Watch) {
	for _, f := range forms {
		w := Watch{
			Dir: p.dir, Paths: f.Paths, Ignore: f.Ignore, Build: f.Build, Change: Change(f.OnChange),
			Signal: f.ChangeSignal, At: jobspec.RangeOf(f.Block.Header),
		}
		if w.Change == "" {
			w.Change = ChangeRestart
		}
		switch w.Change {
		case ChangeRestart, ChangeNoop:
			if w.Signal != "" {
				p.refuse(f.Block.At("change_signal"), "change_signal has no effect", fmt.Sprintf("on_change is %q", w.Change), `write on_change = "signal", or remove it`)
			}
		case ChangeSignal:
			if w.Signal == "" {
				p.refuse(f.Block.Header, `on_change = "signal" needs a signal`, "", `add change_signal = "SIGHUP"`)
			}
		default:
			p.refuse(f.Block.At("on_change"), fmt.Sprintf("unknown value %q of on_change", f.OnChange), "", `write "restart", "signal" or "noop"`)
		}
		if f.Block.Has("paths") && len(w.Paths) == 0 {
			p.refuse(f.Block.At("paths"), "a watch block needs at least one path", "", `write one such as paths = ["**/*.go"]`)
		}
		if f.Block.Has("build") && (len(w.Build) == 0 || w.Build[0] == "") {
			p.refuse(f.Block.At("build"), "the build has no command", "", `write one such as build = ["go", "build", "."], or remove it`)
		}
		for name, patterns := range map[string][]string{"paths": w.Paths, "ignore": w.Ignore} {
			for _, pattern := range patterns {
				if err := glob.Check(pattern); err != nil {
					p.refuse(f.Block.At(name), fmt.Sprintf("invalid pattern %q", pattern), "", `write one such as "**/*.go"`)
				}
			}
		}
		list = append(list, w)
	}
	return list
}

// TaskWatch is a watch block with the tasks that it is for.
type TaskWatch struct {
	Watch
	Target string // of the task block: JOB/GROUP/TASK, or a suffix of it
}

// Watches returns all watch blocks.
func (s *Set) Watches() (list []TaskWatch) {
	for _, t := range s.Tasks {
		for _, w := range t.Watches {
			list = append(list, TaskWatch{w, t.Target})
		}
	}
	return list
}

// IsFor reports whether the block is for a task, JOB/GROUP/TASK.
func (w *TaskWatch) IsFor(path string) bool { return Task{Target: w.Target}.isFor(path) }
