package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"taskrun/cmd/client"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
	"taskrun/jobspec"
)

// runDetach starts a run in the background and returns when it stands. Everything
// that keeps the jobs from being run is told here.
func runDetach(ctx context.Context, a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, dataDir string) error {
	if err := a.showWarnings(warnings, opts.mode, files); err != nil {
		return err
	}
	log, err := allocdir.NewLog(dataDir)
	if err != nil {
		return err
	}
	defer log.Close()
	input := detachedRun{Jobs: jobfile.Jobs(files), Made: jobfile.Sources(files), Local: jobfile.Stubs(files).File, Log: log.Name()}
	path, err := input.write()
	if err != nil {
		return errors.Join(err, os.Remove(log.Name()))
	}
	defer os.Remove(path) // when the run has read it that is done
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	sockets, err := a.sockets()
	if err == nil {
		err = runtimedir.Make(sockets)
	}
	if err != nil {
		return err // a run that nobody can reach would run for ever
	}
	words, err := keeper.Detach(keeper.Detached{
		Args: engineArgs(a, path, opts.flags), Env: a.environ, Dir: dir, Log: log, RecordDir: sockets,
	})
	if err != nil {
		return notDetached(a, err, log.Name())
	}
	return reportDetached(ctx, a, input, opts, words)
}

// notDetached tells why there is no run, which has left its log where it was.
func notDetached(a *app, failure error, log string) error {
	text, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else {
		err = errors.Join(err, os.Remove(log))
	}
	var told toldError
	if json.Unmarshal([]byte(failure.Error()), &told) == nil {
		return &exitError{code: told.Code, err: errors.Join(errors.New(told.Text), err), hint: told.Hint}
	}
	if said := strings.TrimSpace(string(text)); said != "" {
		failure = fmt.Errorf("%w:\n%s", failure, said)
	}
	return errors.Join(failure, err)
}

// toldError is how a run in the background says why it does not stand.
type toldError struct {
	Code int
	Text string
	Hint string
}

func (e *toldError) Error() string {
	text, err := json.Marshal(e)
	if err != nil {
		return e.Text
	}
	return string(text)
}

// reportDetached tells how the run is reached, in its own words, and waits for it if
// that is wanted.
func reportDetached(ctx context.Context, a *app, input detachedRun, opts upOptions, words string) error {
	var run reached
	if err := json.Unmarshal([]byte(words), &run); err != nil {
		return fmt.Errorf("cannot learn how the run is reached: %w", err)
	}
	server, err := client.Local(run.Socket)
	if err != nil {
		return err
	}
	job, v := *input.Jobs[0].ID, source.NewDirectory(server, &run.Self)
	var runs []ui.Run
	for _, j := range input.Jobs {
		runs = append(runs, ui.Run{
			Job: *j.ID, Version: currentVersion().Version, PID: v.Self.PID, Socket: v.Server.Socket, DataDir: v.Self.DataDir,
			RunDir: v.Self.Runs[*j.ID], Log: v.Log(job),
		})
	}
	if opts.wait {
		if err := awaitRun(ctx, a, v, opts); err != nil {
			return err
		}
	}
	return answer.WriteDetached(answerTo(a, opts.mode), "", runs)
}
