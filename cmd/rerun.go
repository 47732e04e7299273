package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/verdict"
	"taskrun/cmd/watch"
)

// watched are the files on which the result of a command depends.
type watched struct {
	files []string // paths
	trees []watch.Tree
}

func (w *watched) add(paths ...string) {
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil && path != "" && !slices.Contains(w.files, abs) {
			w.files = append(w.files, abs)
		}
	}
}

// addTests adds test files, and those that are written later in the folders among
// paths.
func (w *watched) addTests(paths, names []string) {
	if w == nil {
		return
	}
	w.add(names...)
	if len(paths) == 0 {
		paths = []string{"."}
	}
	w.trees = nil
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil && !slices.Contains(names, filepath.Clean(path)) {
			w.trees = append(w.trees, watch.NewTrees(abs, []string{"*" + jobtest.Suffix, "tests/*" + jobtest.Suffix}, nil, "")...)
		}
	}
}

// addTest adds the files that a test file names.
func (w *watched) addTest(f *jobtest.File) {
	if w != nil {
		w.add(f.Job, f.Stubs)
	}
}

func bindAgain(flags *pflag.FlagSet, watch *bool) {
	flags.BoolVarP(watch, "watch", "w", false, "run again whenever a file changes, until Ctrl-C")
}

// rerun calls f, and again whenever files have changed that it has named, until a
// signal. A change interrupts f. A wrong call ends it.
func (a *app) rerun(ctx context.Context, f func(ctx context.Context, files *watched) error) error {
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	since, files := time.Now(), &watched{}
	err := f(ctx, files)
	if wrong, ok := errors.AsType[*exit.Error](err); ok && wrong.Code == verdict.Usage && wrong.Err != nil {
		return err
	}
	if ctx.Err() != nil {
		return exit.Stopped(ctx, err)
	}
	a.PrintError(err)
	say := func(text string) { a.Say("%s", text) }
	watcher := watch.NewWatcher(say)
	defer watcher.Close()
	loop := watch.NewLoop(watcher, say)
	var do func(ctx context.Context, changed string)
	units := func() []watch.Unit {
		return []watch.Unit{{Key: "all", Files: files.files, Trees: files.trees, Do: do}}
	}
	do = func(ctx context.Context, changed string) {
		a.Say("%s has changed", console.ShortPath(changed))
		began, again := time.Now(), &watched{files: files.files, trees: files.trees}
		err := f(ctx, again)
		if ctx.Err() != nil {
			return // there was another change, or the end
		}
		a.PrintError(err)
		files = again
		loop.Set(units(), began)
		a.Say("waiting for changes; Ctrl-C ends")
	}
	loop.Set(units(), since)
	a.Say("waiting for changes; Ctrl-C ends")
	loop.Run(ctx)
	return exit.Stopped(ctx, context.Cause(ctx))
}
