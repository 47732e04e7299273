package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/watch"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

func bindWatch(flags *pflag.FlagSet, watch *bool) {
	flags.BoolVarP(watch, "watch", "w", false, "follow changes of the files; see: taskrun help watch")
}

// checkWatchable refuses job files that do not come from a file.
func checkWatchable(files []jobfile.File) error {
	for _, f := range files {
		if f.Name == "stdin" || strings.Contains(f.Name, "://") {
			return usageError("cannot watch %s: --watch requires job files on this machine", f.Name)
		}
	}
	return nil
}

// watchedRun is a run that follows its files.
type watchedRun struct {
	a      *app
	names  []string  // of the job files
	opts   upOptions // of an update
	engine *engine.Engine
	builds *watch.Builds
	loop   *watch.Loop

	began time.Time
	files []jobfile.File // as they were read last without errors
	paths []string       // of all files that were read without errors
}

// jobFileNames returns the names of files.
func jobFileNames(files []jobfile.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// newWatchInput returns what an engine in the background needs to follow files.
func newWatchInput(files []jobfile.File, opts upOptions) *watchInput {
	return &watchInput{
		Names: jobFileNames(files), Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.secretVars(), Stubs: opts.stubsFile(),
		Strict: opts.strict, NoRestart: opts.noRestart, Since: opts.since,
	}
}

// restore completes the options of an engine in the background.
func (in *watchInput) restore(opts *upOptions) {
	opts.Vars, opts.VarFiles, opts.SecretVars, opts.Stubbed, opts.stubs = in.Vars, in.VarFiles, in.SecretVars, true, in.Stubs
	opts.strict, opts.noRestart, opts.watch = in.Strict, in.NoRestart, true
}

// watchFiles follows the files of a run until ctx has ended or the run stops. They
// were read after since; files are nil if another process has read them.
func watchFiles(ctx context.Context, a *app, r *engineRun, names []string, files []jobfile.File, opts upOptions, since time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watchedRun{a: a, names: names, opts: opts, engine: r.engine, builds: watch.NewBuilds(a.environ), files: files, began: time.Now()}
	watcher := watch.NewWatcher(w.say)
	defer watcher.Close()
	w.opts.update = true
	if files == nil {
		w.files, _, _ = w.read(ctx) // apply reports errors, because the files have changed
	}
	w.loop = watch.NewLoop(watcher, w.say)
	w.loop.Set(w.units(w.files), since)
	var running sync.WaitGroup
	running.Go(func() { w.loop.Run(ctx) })
	select {
	case <-r.engine.Stopping():
	case <-ctx.Done():
	}
	cancel()
	running.Wait()
	sweep, end := context.WithTimeout(context.WithoutCancel(ctx), source.SweepTime)
	defer end()
	if err := w.builds.Close(sweep); err != nil {
		w.say(err.Error())
	}
}

// say shows a message to those who follow the run.
func (w *watchedRun) say(text string) { w.notify(event.Notice{Text: text}) }

// notify shows a notice to those who follow the run: it belongs to its first job.
func (w *watchedRun) notify(n event.Notice) {
	if jobs := w.engine.Jobs(); len(jobs) > 0 {
		n.Job = event.JobKey(*jobs[0].Namespace, *jobs[0].ID)
	}
	w.engine.Say(n)
}

// wrong reports whether the files have errors. The run knows, because an earlier engine
// may have found them.
func (w *watchedRun) wrong() (wrong bool) {
	w.engine.State().Look(func(run *fold.Run) { wrong = run.Unfixed.Text != "" })
	return wrong
}

// units returns what is watched: the files of the jobs, as they were read last, and
// those of the watch blocks. Errors in a job file do not end its watch blocks.
func (w *watchedRun) units(read []jobfile.File) []watch.Unit {
	w.paths = sourcesToWatch(w.names, read, w.opts.jobOptions, w.paths)
	units := []watch.Unit{{Key: "jobs", Files: w.paths, Do: w.apply}}
	for _, b := range jobfile.Stubs(w.files).Watches() {
		if !slices.ContainsFunc(jobfile.Jobs(w.files), func(j *api.Job) bool { return len(tasksOf(j, &b)) > 0 }) {
			continue // the preflight warns of it
		}
		key := fmt.Sprintf("%s %q %q %q %s %s", b.Target, b.Paths, b.Ignore, b.Build, b.Change, b.Signal)
		units = append(units, watch.Unit{
			Key: key, Trees: watch.NewTrees(b.Dir, b.Paths, b.Ignore, filepath.Join(w.opts.dataDir, "jobs")),
			Do: func(ctx context.Context, changed string) { w.act(ctx, &b, changed) },
		})
	}
	return units
}

// sourcesToWatch returns the paths of all files that decide what the jobs are. With
// errors, files that are not known any more may still be needed.
func sourcesToWatch(names []string, files []jobfile.File, opts jobOptions, known []string) []string {
	paths := slices.Concat(names, opts.VarFiles)
	if given := opts.stubsFile(); given != "" {
		paths = append(paths, given)
	} else if opts.Stubbed {
		for _, name := range names { // it may be written later
			paths = append(paths, filepath.Join(filepath.Dir(name), stub.DefaultName))
		}
	}
	wrong := len(files) < len(names)
	for _, f := range files {
		paths = slices.Concat(paths, f.Reads, f.Stubs.Reads)
		wrong = wrong || f.Job == nil || f.Broken
	}
	if wrong {
		paths = append(paths, known...)
	}
	for i, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			paths[i] = abs
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// tasksOf returns the groups and tasks of a job that a watch block is for.
func tasksOf(j *api.Job, b *stub.TaskWatch) (found [][2]string) {
	id := *j.ID
	if isChild(j) {
		id = *j.ParentID
	}
	for _, g := range j.TaskGroups {
		for _, t := range g.Tasks {
			if b.IsFor(id + "/" + *g.Name + "/" + t.Name) {
				found = append(found, [2]string{*g.Name, t.Name})
			}
		}
	}
	return found
}

// calmTime is how long changes without effect at the start of a run are not told.
const calmTime = time.Second

// missingTime is how long a job file may be missing: some programs remove a file
// before they write it again.
const missingTime = 250 * time.Millisecond

// apply makes the jobs what their files say, or shows why that cannot be.
func (w *watchedRun) apply(ctx context.Context, changed string) {
	since := time.Now()
	if w.missing() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(missingTime):
		}
	}
	files, diagnostics, err := w.read(ctx)
	if ctx.Err() != nil {
		return // there was another change
	}
	name := shown(changed)
	if err != nil {
		w.say(fmt.Sprintf("%s has changed: %v", name, err))
		return
	}
	defer func() { w.loop.Set(w.units(files), since) }()
	errs := slices.DeleteFunc(slices.Clone(diagnostics), func(d jobspec.Diagnostic) bool { return d.Severity != jobspec.Error })
	if len(errs) > 0 {
		lines := []string{fmt.Sprintf("%s has changed: %s; the run continues as it was", name, ui.Count(len(errs), "error"))}
		for _, d := range errs {
			lines = append(lines, asText(d, files))
		}
		in := shown(cmp.Or(errs[0].Range.File, changed))
		w.notify(event.Notice{Text: strings.Join(lines, "\n"), Unfixed: ui.Count(len(errs), "error") + " in " + in})
		return
	}
	w.files = files
	w.update(files, name)
}

// missing reports whether a job file is missing.
func (w *watchedRun) missing() bool {
	return slices.ContainsFunc(w.names, func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// read reads and checks the files.
func (w *watchedRun) read(ctx context.Context) ([]jobfile.File, jobspec.Diagnostics, error) {
	files, diagnostics, err := w.a.read(ctx, w.names, w.opts.jobOptions)
	if err != nil {
		return nil, nil, err
	}
	c, done, err := w.a.preflight(w.opts.entry(), files, w.opts.jobOptions, w.opts.machineOptions)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	c.EnforceMemory = w.opts.enforce
	c.Prepare()
	diagnostics = w.opts.wanted(sorted(diagnostics, c.Check()))
	if w.opts.noRestart {
		neverRestart(jobfile.Jobs(files))
	}
	return files, diagnostics, nil
}

// update registers the jobs of files, and says what that does.
func (w *watchedRun) update(files []jobfile.File, name string) {
	valid := ""
	if w.wrong() {
		valid = "errors are fixed; "
	}
	say := func(text string) { w.notify(event.Notice{Text: name + " has changed: " + text, Fixed: true}) }
	same := true
	for _, f := range files {
		key := event.JobKey(*f.Job.Namespace, *f.Job.ID)
		id := event.JobName(key)
		before, ok := w.engine.Job(key)
		if !ok {
			say(fmt.Sprintf("job %q is not part of this run: start it with taskrun up", id))
			same = false
			continue
		}
		registered, err := w.engine.Register(engine.Registration{Job: f.Job, Submission: f.Source, Quiet: true})
		switch {
		case err != nil:
			same = false
			say(err.Error())
		case registered.Plan.Diff.Type != "None":
			same = false
			say(fmt.Sprintf("%sjob %q, version %d: %s", valid, id, registered.Version, watch.Effect(registered.Plan, before, f.Job)))
		}
	}
	if same && (valid != "" || time.Since(w.began) > calmTime) { // earlier, a file that was written just before the run may seem changed
		say(valid + "no task is affected")
	}
}

// act builds and restarts the tasks of a watch block.
func (w *watchedRun) act(ctx context.Context, b *stub.TaskWatch, changed string) {
	did := []string{relativeTo(b.Dir, changed) + " has changed"}
	if len(b.Build) > 0 {
		began := time.Now()
		output, err := w.builds.Build(ctx, b.Dir, b.Build)
		switch {
		case ctx.Err() != nil:
			return // there was another change, or the run stops
		case err != nil:
			text := fmt.Sprintf("%s: %s: the build has failed: %v; the task stays as it was", b.Target, did[0], err)
			w.say(strings.TrimRight(text+"\n"+output, "\n"))
			return
		}
		did = append(did, "built in "+ui.Duration(time.Since(began)))
	}
	n, stopped, err := w.change(ctx, b)
	if ctx.Err() != nil {
		return
	}
	if b.Change != stub.ChangeNoop && (n > 0 || stopped == 0) {
		verb := map[stub.Change]string{stub.ChangeRestart: "restarted", stub.ChangeSignal: "sent " + b.Signal + " to"}[b.Change]
		did = append(did, verb+" "+ui.Count(n, "task"))
	}
	if stopped > 0 {
		did = append(did, "left "+ui.Count(stopped, "task")+" stopped")
	}
	if err != nil {
		did = append(did, err.Error())
	}
	w.say(b.Target + ": " + strings.Join(did, ", "))
}

// change does to all tasks of a watch block what is wanted when their files have
// changed. It returns to how many, and how many it left alone because a user has
// stopped them.
func (w *watchedRun) change(ctx context.Context, b *stub.TaskWatch) (n, stopped int, err error) {
	if b.Change == stub.ChangeNoop {
		return 0, 0, nil
	}
	allocs := w.engine.Allocs()
	replaced := map[string]bool{}
	for _, alloc := range allocs {
		replaced[alloc.Replaces] = true
	}
	var mu sync.Mutex
	var changing sync.WaitGroup
	for _, alloc := range allocs {
		ended := alloc.Status == api.AllocClientStatusComplete || alloc.Status == api.AllocClientStatusFailed
		if alloc.Unwanted != "" || replaced[alloc.ID] || ended && isChild(alloc.Job) {
			continue
		}
		for _, at := range tasksOf(alloc.Job, b) {
			if at[0] != alloc.Group {
				continue
			}
			if halted, _ := alloc.Halted(at[1]); halted {
				stopped++
				continue
			}
			changing.Go(func() {
				var failure error
				if b.Change == stub.ChangeSignal {
					failure = alloc.Signal(at[1], b.Signal)
				} else {
					failure = w.engine.Renew(ctx, alloc.ID, at[1])
				}
				mu.Lock()
				defer mu.Unlock()
				if failure != nil {
					err = errors.Join(err, fmt.Errorf("%s/%s: %w", alloc.Name, at[1], failure))
				} else {
					n++
				}
			})
		}
	}
	changing.Wait()
	return n, stopped, err
}

// isChild reports whether another job has launched a job.
func isChild(j *api.Job) bool { return j.ParentID != nil && *j.ParentID != "" }

// shown returns a path as short as possible.
func shown(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return relativeTo(dir, path)
}
