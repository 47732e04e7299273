package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"taskrun/cmd/host"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/scratch"
	"taskrun/jobspec"
)

// testFile is a test file that was read.
type testFile struct {
	*jobtest.File

	wrong bool // it, or its job, has errors: none of its runs is played
}

// readTests reads test files and their jobs, and checks them. The diagnostics are
// those of all files.
func (a *app) readTests(ctx context.Context, paths []string, opts testOptions, dirs testDirs) ([]*testFile, jobspec.Diagnostics, error) {
	names, diagnostics := jobtest.Find(paths)
	opts.watched.addTests(paths, names)
	opts.SecretVars = opts.secretVars()
	player := a.player(opts.Options, dirs.virtual)
	if w := opts.watched; w != nil {
		w.add(opts.VarFiles...)
		player.OnRead = func(f jobfile.File) { w.add(new(jobOptions).sources([]string{f.Name}, []jobfile.File{f}, nil)...) }
	}
	var files []*testFile
	for _, name := range names {
		file, found := jobtest.Read(name)
		opts.watched.addTest(file)
		f := &testFile{File: file, wrong: found.HasErrors()}
		if !f.wrong {
			more, err := player.Check(ctx, file)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, more...)
			f.wrong = found.HasErrors()
		}
		found.Sort()
		files, diagnostics = append(files, f), append(diagnostics, found...)
	}
	return files, diagnostics, ctx.Err()
}

func (a *app) player(opts jobfile.Options, dir string) *play.Player {
	records, _ := a.runs.Sockets() // without the directory nothing is found there
	return play.New(play.Options{
		Drivers: a.drivers, Environ: a.Environ, Dir: dir, Records: records, PortDir: host.PortDir(records),
		Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.SecretVars,
	})
}

// sourcesOf returns the texts that diagnostics of test files point into.
func sourcesOf(files []*testFile) (sources []jobfile.File) {
	for _, f := range files {
		texts := map[string][]byte{f.Path: f.Text}
		for _, r := range f.Runs {
			for _, o := range r.Orders {
				texts[o.File] = nil
			}
		}
		for name := range texts {
			if text, err := os.ReadFile(cmp.Or(name, f.Job)); err == nil && name != f.Path {
				texts[cmp.Or(name, f.Job)] = text
			}
		}
		sources = append(sources, jobfile.File{File: &jobspec.File{Sources: texts}, Name: f.Path})
	}
	return sources
}

// testDirs are the folders of everything that the runs of a call write.
type testDirs struct{ virtual, real string }

func (d testDirs) of(mode jobtest.Mode) string {
	if mode == jobtest.Real {
		return d.real
	}
	return d.virtual
}

// makeTestDirs makes the folders. That of virtual runs, in which no program is
// executed, is in memory where there is room.
func makeTestDirs(a *app) (dirs testDirs, remove func(), err error) {
	remove = func() {
		for _, dir := range []string{dirs.virtual, dirs.real} {
			if err := allocdir.Remove(dir); dir != "" && err != nil {
				a.Report("", fmt.Sprintf("cannot remove the folder of the job tests: %v", err))
			}
		}
	}
	const pattern = "taskrun-test-"
	if a.Streams.Env("TMPDIR") == "" {
		dirs.virtual = scratch.InMemory(pattern)
	}
	if dirs.virtual == "" {
		dirs.virtual, err = os.MkdirTemp("", pattern)
	}
	if err == nil {
		dirs.real, err = os.MkdirTemp("", pattern)
	}
	if err != nil {
		remove()
		return dirs, nil, fmt.Errorf("cannot make a folder for job tests: %w", err)
	}
	return dirs, remove, nil
}
