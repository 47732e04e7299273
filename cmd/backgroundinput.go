package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// backgroundInput is the input of all engines of a run in the background. By
// the time a later engine starts, the job files may have changed and stdin is
// used up.
type backgroundInput struct {
	Jobs  []*api.Job
	Made  map[string]*api.JobSubmission // the source of each job
	Specs map[string][]byte             // each job without its secrets, see jobfile.Redacted
	Given []string                      // values from outside of the job files, see jobfile.Given
	Local string                        // stubs file; empty: none
	Log   string                        // where it is before the run has a directory
	Began time.Time
	Watch *watchInput       // nil: the files are not followed
	Dirs  map[string]string // run directories, by job
}

// watchInput is what an engine needs to read the job files again. The flags that it
// has itself are not part of it.
type watchInput struct {
	Names, Vars, VarFiles []string
	SecretVars            bool
	Stubs                 string
	Strict, NoRestart     bool
	Since                 time.Time // the files were read later
}

// encode writes the input to a file that only this user can read.
func (d *backgroundInput) encode() (path string, err error) {
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
func (d *backgroundInput) decode(f *os.File) error {
	dec := json.NewDecoder(io.NewSectionReader(f, 0, 1<<40))
	dec.UseNumber() // keep the numbers in task configs exact
	if err := dec.Decode(d); err != nil {
		return fmt.Errorf("cannot read what is to be run: %w", err)
	}
	if d.Began.IsZero() {
		d.Began = time.Now()
	}
	return nil
}

// jobFiles returns the jobs as if they had just been read. The preflight has
// checked the stubs file; if it cannot be read now, jobFiles returns warnings
// and uses no stubs.
func (d *backgroundInput) jobFiles() (files []jobfile.File, warnings jobspec.Diagnostics) {
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

// reached says how clients reach a run in the background. The run may have
// ended by the time they try.
type reached struct {
	client.Self
	Socket string
}

// startError explains why a run in the background has not started. Its engine
// writes it as JSON.
type startError struct {
	Code int
	Text string
	Hint string
}

func (e *startError) Error() string {
	text, err := json.Marshal(e)
	if err != nil {
		return e.Text
	}
	return string(text)
}

// tellStart tells the program that started an engine or an agent in the background why
// it has not started.
func tellStart(watch *keeper.Watch, err error) {
	known, ok := errors.AsType[*exit.Error](err)
	if err == nil || ok && known.Err == nil {
		return
	}
	failure := &startError{Code: exit.Code(err), Text: err.Error()}
	if ok {
		failure.Hint = known.Hint
	}
	_ = watch.Stands("", failure) // the log has the error as well
}

// toldStart returns the error that tellStart told, beside another one, or nil.
func toldStart(failure, beside error) error {
	var told startError
	if json.Unmarshal([]byte(failure.Error()), &told) != nil {
		return nil
	}
	return &exit.Error{Code: told.Code, Err: errors.Join(errors.New(told.Text), beside), Hint: told.Hint}
}
