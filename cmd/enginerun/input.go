package enginerun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// Input is the input of all engines of a run in the background. By
// the time a later engine starts, the job files may have changed and stdin is
// used up.
type Input struct {
	Jobs  []*api.Job
	Made  map[string]*api.JobSubmission // the source of each job
	Specs map[string][]byte             // each job without its secrets, see jobfile.Redacted
	Given []string                      // values from outside of the job files, see jobfile.Given
	Local string                        // stubs file; empty: none
	Log   string                        // where it is before the run has a directory
	Began time.Time
	Watch *Watched          // nil: the files are not followed
	Dirs  map[string]string // run directories, by job
}

// Watched is the input that an engine needs to read the job files again, besides
// its own flags.
type Watched struct {
	Names, Vars, VarFiles []string
	SecretVars            bool
	Stubs                 string
	Strict, NoRestart     bool
	Since                 time.Time // the files were read later
}

// NewInput returns the input of a run of job files.
func NewInput(files []jobfile.File) (Input, error) {
	specs, err := jobfile.Redacted(files)
	return Input{
		Jobs: jobfile.Jobs(files), Made: jobfile.Sources(files), Specs: specs, Given: jobfile.Given(files), Local: jobfile.Stubs(files).File,
	}, err
}

// encode writes the input to a file that only this user can read.
func (d *Input) encode() (path string, err error) {
	f, err := os.CreateTemp("", "taskrun-*.json")
	if err != nil {
		return "", fmt.Errorf("cannot hand the jobs over: %w", err)
	}
	err = errors.Join(json.NewEncoder(f).Encode(d), f.Close())
	if err != nil {
		return "", errors.Join(fmt.Errorf("cannot hand the jobs over: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// decode reads the input from the start of a file.
func (d *Input) decode(f *os.File) error {
	dec := json.NewDecoder(io.NewSectionReader(f, 0, 1<<40))
	dec.UseNumber() // keep the numbers in task configs exact
	if err := dec.Decode(d); err != nil {
		return fmt.Errorf("cannot read the jobs to run: %w", err)
	}
	if d.Began.IsZero() {
		d.Began = time.Now()
	}
	return nil
}

// Files returns the jobs as if they had just been read. The preflight has
// checked the stubs file; if it cannot be read now, Files returns warnings
// and uses no stubs.
func (d *Input) Files() (files []jobfile.File, warnings jobspec.Diagnostics) {
	stubs := stub.None()
	if d.Local != "" {
		read, diagnostics := stub.Read(d.Local)
		if read != nil {
			stubs = read.Filled()
		}
		warnings = diagnostics
	}
	for _, j := range d.Jobs {
		files = append(files, jobfile.File{File: &jobspec.File{Job: j}, Name: *j.ID, Stubs: stubs, Source: d.Made[*j.ID]})
	}
	return files, warnings
}
