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

	"taskrun/cmd/console"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/prose"
	"taskrun/cmd/source"
	"taskrun/cmd/watch"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// checkWatchable refuses job files that do not come from a file.
func checkWatchable(files []jobfile.File) error {
	for _, f := range files {
		if f.Name == "stdin" || strings.Contains(f.Name, "://") {
			return exit.Usage("cannot watch %s: --watch requires job files on this machine", f.Name)
		}
	}
	return nil
}

type watchedRun struct {
	a      *app
	names  []string  // of the job files
	opts   upOptions // of an update
	engine *engine.Engine
	blocks *watch.Blocks
	loop   *watch.Loop

	began time.Time
	files []jobfile.File // as they were read last without errors
	paths []string       // of all files that were read without errors
}

func jobFileNames(files []jobfile.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// newWatched returns what an engine in the background needs to follow files.
func newWatched(files []jobfile.File, opts upOptions) *enginerun.Watched {
	return &enginerun.Watched{
		Names: jobFileNames(files), Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.secretVars(), Stubs: opts.stubsFile(),
		Strict: opts.strict, NoRestart: opts.noRestart, Since: opts.since,
	}
}

// watchAgain completes the options of an engine in the background.
func (o *upOptions) watchAgain(in *enginerun.Watched) {
	o.Vars, o.VarFiles, o.SecretVars, o.Stubbed, o.stubs = in.Vars, in.VarFiles, in.SecretVars, true, in.Stubs
	o.strict, o.noRestart, o.watch = in.Strict, in.NoRestart, true
}

// watchFiles follows the files of a run until ctx has ended or the run stops. They
// were read after since; files are nil if another process has read them.
func watchFiles(ctx context.Context, a *app, e *engine.Engine, names []string, files []jobfile.File, opts upOptions, since time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watchedRun{a: a, names: names, opts: opts, engine: e, files: files, began: time.Now()}
	builds := watch.NewBuilds(a.Environ)
	w.blocks = &watch.Blocks{Engine: e, Builds: builds, Say: w.say}
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
	case <-e.Stopping():
	case <-ctx.Done():
	}
	cancel()
	running.Wait()
	sweep, end := context.WithTimeout(context.WithoutCancel(ctx), source.SweepTime)
	defer end()
	if err := builds.Close(sweep); err != nil {
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
	w.paths = w.opts.sources(w.names, read, w.paths)
	units := []watch.Unit{{Key: "jobs", Files: w.paths, Do: w.apply}}
	for _, b := range jobfile.Stubs(w.files).Watches() {
		if slices.ContainsFunc(jobfile.Jobs(w.files), func(j *api.Job) bool { return len(watch.Tasks(j, &b)) > 0 }) { // the preflight warns of others
			units = append(units, w.blocks.Unit(&b, filepath.Join(w.opts.dataDir, "jobs")))
		}
	}
	return units
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
	name := console.ShortPath(changed)
	if err != nil {
		w.say(fmt.Sprintf("%s has changed: %v", name, err))
		return
	}
	defer func() { w.loop.Set(w.units(files), since) }()
	if errs := diagnostics.Errors(); len(errs) > 0 {
		lines := []string{fmt.Sprintf("%s has changed: %s; the run continues as it was", name, prose.Count(len(errs), "error"))}
		for _, d := range errs {
			lines = append(lines, console.AsText(d, files))
		}
		in := console.ShortPath(cmp.Or(errs[0].Range.File, changed))
		w.notify(event.Notice{Text: strings.Join(lines, "\n"), Unfixed: prose.Count(len(errs), "error") + " in " + in})
		return
	}
	w.files = files
	w.update(files, name)
}

func (w *watchedRun) missing() bool {
	return slices.ContainsFunc(w.names, func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (w *watchedRun) read(ctx context.Context) ([]jobfile.File, jobspec.Diagnostics, error) {
	files, diagnostics, err := w.a.readChecked(ctx, w.opts.entry(), w.names, w.opts.jobOptions, w.opts.machineOptions)
	if err != nil {
		return nil, nil, err
	}
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
