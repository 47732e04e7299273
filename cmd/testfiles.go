package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/host"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
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
			more, err := checkTest(ctx, player, file)
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

// player returns what carries out runs.
func (a *app) player(opts jobfile.Options, dir string) *play.Player {
	records, _ := a.runs.Sockets() // without the directory nothing is found there
	return play.New(play.Options{
		Drivers: a.drivers, Environ: a.Environ, Dir: dir, Records: records, PortDir: host.PortDir(records),
		Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.SecretVars,
	})
}

// checkTest checks a test file against its job. Runs that give the job the same
// variables share one job.
func checkTest(ctx context.Context, player *play.Player, f *jobtest.File) (diagnostics jobspec.Diagnostics, err error) {
	var jobs []*api.Job
	made := map[string]bool{}
	for _, r := range f.Runs {
		key := jobKey(r)
		if made[key] {
			continue
		}
		made[key] = true
		prepared, found, err := player.Prepare(ctx, f, r)
		if err != nil {
			return nil, err
		}
		diagnostics = addNew(diagnostics, onlyErrors(found))
		if prepared != nil {
			jobs = append(jobs, prepared.All()...)
		}
	}
	diagnostics = append(diagnostics, sameSnapshot(f)...)
	if !diagnostics.HasErrors() {
		diagnostics = append(diagnostics, f.Check(jobs...)...)
	}
	return diagnostics, nil
}

// jobKey is equal for runs of one file that have equal jobs.
func jobKey(r *jobtest.Run) string {
	var key strings.Builder
	fmt.Fprintln(&key, r.Mode)
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		fmt.Fprintf(&key, "%s %#v\n", name, r.Variables[name].Value)
	}
	for _, o := range r.Orders {
		if o.Verb == jobtest.Update {
			fmt.Fprintln(&key, o.File)
		}
	}
	return key.String()
}

// addNew adds the diagnostics that are not there yet.
func addNew(known, found jobspec.Diagnostics) jobspec.Diagnostics {
	for _, d := range found {
		if !slices.ContainsFunc(known, func(k jobspec.Diagnostic) bool { return k.Error() == d.Error() }) {
			known = append(known, d)
		}
	}
	return known
}

// sameSnapshot returns a diagnostic for each run that would overwrite the snapshot
// of another one, or whose events have other times each time.
func sameSnapshot(f *jobtest.File) (diagnostics jobspec.Diagnostics) {
	first := map[string]*jobtest.Run{}
	for _, r := range f.Runs {
		switch before := first[r.Snapshot]; {
		case r.Snapshot == "":
		case r.Mode == jobtest.Real:
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("the real run %q cannot have a snapshot", r.Name), Detail: "its events have other times each time",
				Remedy: `remove snapshot, or write mode = "virtual"`, Range: jobspec.RangeOf(r.Range),
			})
		case before != nil:
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("snapshot %q belongs to run %q already", r.Snapshot, before.Name), Remedy: "choose another name",
				Range: jobspec.RangeOf(r.Range),
			})
		default:
			first[r.Snapshot] = r
		}
	}
	return diagnostics
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
