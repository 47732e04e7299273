package lookup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/exit"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// exportSuffix is how the name of a file that export writes should end.
const exportSuffix = ".zip"

// RunNameHelp explains the argument RUN of commands.
const RunNameHelp = `RUN is a job, for its run or, if it is not running, its latest run; a run as
"taskrun runs" lists it: JOB/ID, or the start or the last part of its ID; or a
file that "taskrun export" wrote.`

// Opened is a run that a command reads.
type Opened struct {
	*record.Run
	// Engine is the run as its engine serves it, if it has not ended.
	Engine *source.Directory
}

// OpenRun opens the run that an argument names; see RunNameHelp. Without a name it is
// the only one that is live, or else the one that began last. The caller must close
// it.
func (f *Finder) OpenRun(ctx context.Context, name, dataDir string) (*Opened, error) {
	if IsPath(name) {
		return OpenRunFile(name)
	}
	live, err := f.FindRun(ctx, name, dataDir)
	switch {
	case err == nil && name == "" && len(live.IDs) > 1:
		return nil, exit.Usage("several jobs are running: name one").WithHint("running jobs: %s", strings.Join(JobNames(live.IDs), ", "))
	case err == nil:
		job := live.IDs[0]
		if name != "" {
			job = live.Key(name)
		}
		r := record.At(live.Self.Runs[job], job)
		r.Live = true
		return &Opened{r, live.Narrow(job)}, nil
	}
	return f.OpenKept(ctx, name, dataDir, err)
}

// OpenKept opens the run that an argument names if it is not that of a running job.
// Missing is the error of FindRun.
func (f *Finder) OpenKept(ctx context.Context, name, dataDir string, missing error) (*Opened, error) {
	if code := exit.Code(missing); code == verdict.Usage || code == verdict.Internal { // several runs match, or engines do not answer
		return nil, missing
	}
	all, listing := f.AllRuns(ctx, dataDir, "")
	switch {
	case len(all) == 0 && listing != nil:
		return nil, listing
	case len(all) == 0 && name == "":
		return nil, missing
	}
	found, err := PickRun(all, name)
	if err == nil {
		return f.reopen(ctx, found, dataDir)
	}
	if _, statErr := os.Stat(name); statErr == nil && name != "" {
		return OpenRunFile(name)
	}
	if listing != nil {
		f.Warn(listing)
	}
	return nil, err
}

// reopen opens a run that was listed.
func (f *Finder) reopen(ctx context.Context, r *record.Run, dataDir string) (*Opened, error) {
	opened := &Opened{Run: r}
	if !r.Live {
		return opened, nil
	}
	runs, err := f.LiveRuns(ctx, dataDir)
	if i := slices.IndexFunc(runs, func(d *source.Directory) bool { return d.Self.Runs[r.Job] == r.Dir }); i >= 0 {
		opened.Engine = runs[i].Narrow(r.Job)
		return opened, nil
	}
	return opened, err
}

// PickRun returns the only run that a name matches, or the newest run of the job
// with that name.
func PickRun(all []*record.Run, name string) (*record.Run, error) {
	var found []*record.Run
	for _, r := range record.NewestFirst(all) {
		if name == "" || event.JobName(r.Job) == name || r.Name() == name {
			return r, nil
		}
		if r.Matches(name) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var names []string
		for _, r := range found {
			names = append(names, r.Name())
		}
		return nil, exit.Usage("run %q is ambiguous: %s", name, strings.Join(names, ", ")).WithHint("see: taskrun runs")
	}
	return nil, exit.Failed("no run matches %q", name).WithHint("see: taskrun runs")
}

// NamesRun reports whether a name is that of a kept run, or of a file, and not of a
// job.
func (f *Finder) NamesRun(ctx context.Context, name, dataDir string) bool {
	if name == "" {
		return false
	}
	all, _ := f.AllRuns(ctx, dataDir, "") // which names it is an error elsewhere
	r, err := PickRun(all, name)
	if _, statErr := os.Stat(name); err != nil && statErr == nil {
		return true
	}
	return err == nil && event.JobName(r.Job) != name || exit.Code(err) == verdict.Usage
}

// IsPath reports whether an argument can only be the name of a file.
func IsPath(name string) bool {
	return strings.HasSuffix(name, exportSuffix) || filepath.IsAbs(name) ||
		slices.ContainsFunc([]string{"./", "../"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// OpenRunFile opens an exported run, or the directory of one.
func OpenRunFile(path string) (*Opened, error) {
	r, err := record.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Failed("%w", err).WithHint("see: taskrun runs")
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, exit.Failed("%w", err).WithHint("it belongs to another user, who can hand it over with: taskrun export RUN FILE")
	}
	if err != nil {
		return nil, exit.Failed("%w", err)
	}
	return &Opened{Run: r}, nil
}

// KnownJob returns the job of the run as it is known now, or nil if that is not known.
func (r *Opened) KnownJob(ctx context.Context) (*api.Job, error) {
	if r.Engine != nil {
		s, id := r.Engine.Server.Of(r.Job)
		if j, _, err := s.Info(ctx, id, 0); err == nil {
			return j, nil
		}
	}
	return r.Spec()
}

// EventsOf returns the past events of a run, and warns of damage.
func (f *Finder) EventsOf(r *record.Run) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range r.Events() {
			if !yield(e, err) {
				return
			}
		}
		f.WarnOf(r)
	}
}

// WarnOf warns of damage in the events of a run that were read last.
func (f *Finder) WarnOf(r *record.Run) {
	for _, w := range r.Warnings() {
		f.Warn(fmt.Errorf("run %s: %s", r.Name(), w))
	}
}
