package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/preflight"
	"taskrun/cmd/rehearse"
	"taskrun/engine/leaf/service"
	hooks "taskrun/hooks/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// Prepared is a run whose job files were read and checked.
type Prepared struct {
	Run      *jobtest.Run
	Job      *api.Job            // canonical
	Versions map[string]*api.Job // of update orders, by path

	notices []string
	stubs   *stub.Set
	node    *taskenv.Node
}

// All returns the job and all its versions, in the order of the run.
func (p *Prepared) All() []*api.Job {
	all := []*api.Job{p.Job}
	for _, o := range p.Run.Orders {
		if v := p.Versions[o.File]; v != nil && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// Prepare reads the job of a run and the versions that its orders update it to, with
// the variables of the test, and checks them as taskrun up does. After errors there
// is nothing prepared.
func (p *Player) Prepare(ctx context.Context, f *jobtest.File, run *jobtest.Run) (*Prepared, jobspec.Diagnostics, error) {
	made := &Prepared{Run: run, Versions: map[string]*api.Job{}}
	file, diagnostics, err := p.read(ctx, f, made, f.Job)
	if err != nil || file.Job == nil {
		return nil, diagnostics, err
	}
	made.Job, made.stubs = file.Job, file.Stubs
	for _, o := range run.Orders {
		if o.Verb != jobtest.Update || made.Versions[o.File] != nil {
			continue
		}
		version, found, err := p.read(ctx, f, made, o.File)
		if err != nil {
			return nil, nil, err
		}
		diagnostics = append(diagnostics, found...)
		if version.Job == nil {
			continue
		}
		if *version.Job.ID != *file.Job.ID {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("%s is another job", o.File),
				Detail:  fmt.Sprintf("the run is of job %q, the file has job %q", *file.Job.ID, *version.Job.ID),
				Range:   jobspec.RangeOf(o.Range),
			})
		}
		made.Versions[o.File] = version.Job
	}
	if diagnostics.HasErrors() {
		return nil, diagnostics, nil
	}
	for _, d := range diagnostics {
		if d.Severity == jobspec.Warning {
			made.notices = append(made.notices, d.Error())
		}
	}
	if n := made.artifacts(); n > 0 && run.Mode == jobtest.Virtual {
		made.notices = append(made.notices, fmt.Sprintf("a virtual run downloads no artifacts: %d left out", n))
	}
	return made, diagnostics, nil
}

// artifacts counts those of the job.
func (p *Prepared) artifacts() (n int) {
	for _, g := range p.Job.TaskGroups {
		for _, t := range g.Tasks {
			n += len(t.Artifacts)
		}
	}
	return n
}

// read reads and checks a job file.
func (p *Player) read(ctx context.Context, f *jobtest.File, made *Prepared, path string) (jobfile.File, jobspec.Diagnostics, error) {
	files, diagnostics, err := jobfile.Read(ctx, []string{path}, nil, p.Environ, jobfile.Options{
		Vars: p.Vars, VarFiles: p.VarFiles, SecretVars: p.SecretVars, Stubbed: f.Stubs != "", Stubs: f.Stubs, Values: made.Run.Variables, Placeholders: made.Run.Mode == jobtest.Virtual,
	})
	if err != nil || len(files) == 0 {
		return jobfile.File{File: &jobspec.File{}}, diagnostics, err
	}
	file := files[0]
	if p.OnRead != nil {
		p.OnRead(file)
	}
	c := &preflight.Case{
		Entry: preflight.Up, Stubs: file.Stubs, StubsBroken: jobfile.StubsUnknown(files),
		Files:   []preflight.File{{File: file.File, Job: file.Draft, Name: file.Name}},
		Drivers: p.known, Services: hooks.Known(&service.Catalog{}, nil), Environ: p.Environ,
		DataDir: p.Dir, MaxAllocs: validate.DefaultMaxAllocs,
	}
	if made.Run.Mode == jobtest.Virtual {
		c.Entry, c.Drivers = preflight.Rehearse, rehearse.Mocks(p.known, nil)
		if file.Draft != nil {
			rehearse.Admit(c.Drivers, file.Draft, nil)
		}
	}
	c.Health = preflight.NewHealth(c.Drivers)
	c.Prepare()
	diagnostics = append(diagnostics, c.Check()...)
	diagnostics.Sort()
	if diagnostics.HasErrors() {
		file.Job = nil
		return file, diagnostics, nil
	}
	if made.node == nil {
		made.node = preflight.Node(c.Files, c.Health, file.Stubs.Node)
		made.node.DataDir = p.Dir
	}
	return file, diagnostics, nil
}

// limit is how long the run may take.
func (p *Prepared) limit(otherwise time.Duration) time.Duration {
	return cmp.Or(p.Run.Timeout, otherwise)
}
