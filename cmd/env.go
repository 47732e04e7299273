package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process"
	kept "taskrun/hooks/environment"
)

// ofSession are variables that mark the commands that run in a task.
var ofSession = []string{process.SessionVar, "TASKRUN_EXEC"}

// maxEnv limits the environment that a task may print, in bytes.
const maxEnv = 16 << 20

type envOptions struct {
	orderOptions
	showSecrets bool
}

func newEnvCommand(a *app) *cobra.Command {
	opts := envOptions{orderOptions: orderOptions{mode: ui.Plain}}
	cmd := &cobra.Command{
		Use:   "env TARGET",
		Short: "Show the environment of a task",
		Long: `Show the environment of a task as NAME=value, sorted. A running task is asked
with its command "env". For a task that has ended, or that has no such command,
show what was kept of its latest start.

Values that may be secrets are shown as xxxxx: those that come from a stub, a
template, a flag or the environment of taskrun, those with a name such as
DB_PASSWORD, tokens, and credentials in URLs. In a cluster only variables of
Nomad, of the env block and such as PATH are shown. --show-secrets shows all of
them. Control characters are escaped; use --output json for exact values.

` + lookup.TargetHelp + `

Output:
  plain  a line for each variable
  json   one object of type "env"
  quiet  nothing

Exit codes:
  0    success
  1    no task matches TARGET, or nothing is known of its environment
  2    the call is wrong
  125  taskrun itself failed, or the run refused`,
		Example: `  taskrun env web
  taskrun env --show-secrets --output json web | jq -r .env.DATABASE_URL`,
		Args:              arguments(1, 1),
		ValidArgsFunction: completeTargets(a, &opts.Connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runEnv(cmd.Context(), a, args[0], opts) },
	}
	bindOrder(a, cmd, &opts.orderOptions)
	cmd.Flags().BoolVar(&opts.showSecrets, "show-secrets", false, "show values that may be secrets, too")
	return cmd
}

func runEnv(ctx context.Context, a *app, target string, opts envOptions) error {
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	_, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	labels := client.Labels(all)
	t, failure := client.Pick(all, target)
	if failure != nil {
		if t, labels, failure = a.runs.TaskAtRest(ctx, all, target, opts.Connection, failure); t == nil {
			return lookup.TargetError(lookup.AsFailed(failure), all, verdict.Failed)
		}
	}
	e := answer.Env{Origin: originOf(t), Label: labels[t]}
	latest, unread := a.keptEnv(ctx, t, opts)
	if failure == nil {
		var variables map[string]string
		if variables, failure = envOf(ctx, t); failure == nil && opts.showSecrets {
			e.List = sortedList(variables)
		} else if failure == nil {
			e.List, e.Hidden = kept.Redact(variables, latest, envBlock(ctx, t))
		}
	}
	switch {
	case failure == nil:
	case ctx.Err() != nil:
		return exit.Stopped(ctx, failure)
	case latest == nil || opts.showSecrets:
		if unread != nil {
			a.Warn(unread)
		}
		err := exit.Failed("cannot show the environment of task %q: %w", labels[t], failure)
		if latest != nil {
			return err.WithHint("secrets of its latest start were not kept: leave out --show-secrets")
		}
		return err
	default:
		a.Say("this is the environment of the latest start: %v", failure)
		e.List = latest
	}
	return answer.WriteEnv(a.Answer(opts.mode), e)
}

// envOf asks a running task for its environment.
func envOf(ctx context.Context, t *client.Task) (map[string]string, error) {
	out, said := &bounded{limit: maxEnv}, &bounded{limit: 1 << 10}
	code, err := t.Exec(ctx, client.Session{Command: []string{"env", "-0"}, Stdin: strings.NewReader(""), Stdout: out, Stderr: said})
	switch {
	case err != nil:
		return nil, err
	case code != 0:
		return nil, fmt.Errorf("its command env ended with exit code %d: %s", code, prose.OneLine(said.String()))
	case out.full:
		return nil, errors.New("it is larger than 16 MiB")
	}
	variables := map[string]string{}
	for variable := range strings.SplitSeq(out.String(), "\x00") {
		if name, value, ok := strings.Cut(variable, "="); ok && !slices.Contains(ofSession, name) {
			variables[name] = value
		}
	}
	return variables, nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	limit int
	full  bool // bytes were lost
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.limit-b.Len())]
	b.full = b.full || len(kept) < len(p)
	b.Buffer.Write(kept)
	return len(p), nil
}

func sortedList(variables map[string]string) (list []string) {
	for name, value := range variables {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// envBlock returns the env block of a task, as far as it is known.
func envBlock(ctx context.Context, t *client.Task) map[string]string {
	s, id := t.Server.Of(t.JobKey())
	job, _, err := s.Info(ctx, id, 0)
	if err != nil {
		return nil // then less is shown
	}
	if g := job.LookupTaskGroup(t.Alloc.TaskGroup); g != nil {
		for _, spec := range g.Tasks {
			if spec.Name == t.Name {
				return spec.Env
			}
		}
	}
	return nil
}

// keptEnv returns what was kept of the environment of a task, without secrets. It is nil
// if there is nothing.
func (a *app) keptEnv(ctx context.Context, t *client.Task, opts envOptions) (env []string, err error) {
	if opts.Cluster.Address != "" {
		return nil, nil
	}
	runs, err := a.runs.RunsOf(ctx, t, opts.DataDir)
	for _, r := range runs {
		f, openErr := r.File(kept.File)
		if openErr != nil {
			if !errors.Is(openErr, fs.ErrNotExist) {
				err = openErr
			}
			continue
		}
		defer f.Close()
		var e kept.Entry
		for dec := json.NewDecoder(io.LimitReader(f, maxEnvironments)); dec.Decode(&e) == nil; e = (kept.Entry{}) {
			if e.Alloc == t.Alloc.ID && e.Task == t.Name {
				env = e.Env
			}
		}
		if env != nil {
			return env, nil
		}
	}
	return nil, err
}
