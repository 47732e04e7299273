package cmd

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
)

type dispatchOptions struct {
	lookup.Connection
	mode    ui.Mode
	meta    []string
	payload string
}

func newDispatchCommand(a *app) *cobra.Command {
	opts := dispatchOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "dispatch JOB",
		Short: "Run a parameterized job",
		Long: `Run a parameterized job that "up" has started, with meta and a payload, and
print the ID of the dispatched job.

With --address the job is one of a Nomad cluster. NOMAD_* variables are ignored.

Output:
  plain  the ID
  json   one object of type "dispatched"

Exit codes:
  0    the job was dispatched
  1    no such job is running
  2    the call is wrong
  125  taskrun itself failed, or the run refused`,
		Example: `  taskrun dispatch import --meta day=2024-05-01 --payload data.json
  date | taskrun dispatch import --payload -`,
		Args:              arguments(1, 1),
		ValidArgsFunction: completeJob(a, &opts.Connection, func(j client.Job) bool { return j.ParameterizedJob }),
		RunE:              func(cmd *cobra.Command, args []string) error { return runDispatch(cmd.Context(), a, args[0], opts) },
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	flags.StringArrayVar(&opts.meta, "meta", nil, "`key=value` for the job's meta (may be repeated)")
	flags.StringVar(&opts.payload, "payload", "", "`file` with the payload, - for stdin")
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	return cmd
}

func runDispatch(ctx context.Context, a *app, id string, opts dispatchOptions) error {
	meta := map[string]string{}
	for _, pair := range opts.meta {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return exit.Usage("cannot use --meta %s: use key=value", pair)
		}
		meta[key] = value
	}
	payload, err := readPayload(a, opts.payload)
	if err != nil {
		return err
	}
	job, err := a.runs.RunningJob(ctx, opts.Connection, id)
	if err != nil {
		return err
	}
	child, err := job.Dispatch(ctx, meta, payload)
	if err != nil {
		return err
	}
	return answer.WriteDispatched(a.Answer(opts.mode), job.ID, child)
}

func readPayload(a *app, name string) (payload []byte, err error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		payload, err = io.ReadAll(a.Streams.In)
	default:
		payload, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, exit.Usage("cannot read the payload: %w", err)
	}
	return payload, nil
}
