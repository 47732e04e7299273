package verify

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
)

// environCommands print the environment of their process, with NUL or a line end
// after each variable. Not every image has each of them.
var environCommands = [][]string{{"env", "-0"}, {"env"}}

// environment returns the variables that a command in a task has, or nil if none
// can run there.
func (c *collector) environment(ctx context.Context, alloc, task string) map[compare.Key]string {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := c.info(ctx, alloc)
	if err != nil {
		return nil
	}
	t := &client.Task{Server: c.Server, Name: task, Alloc: &api.AllocationListStub{
		ID: alloc, NodeID: info.NodeID, Namespace: info.Namespace, TaskGroup: info.TaskGroup, JobID: info.JobID,
	}}
	for _, command := range environCommands {
		out, errOut := &limited{}, &limited{}
		code, err := t.Exec(ctx, client.Session{Command: command, Stdin: strings.NewReader(""), Stdout: out, Stderr: errOut})
		if err == nil && code == 0 && out.Len() > 0 {
			return c.variables(ownWords(info), out.String())
		}
	}
	return nil
}

// limited keeps the first bytes that are written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), maxFile-min(l.Len(), maxFile))])
	return len(p), nil
}

// notOfJob are variables that exist for the sake of a side.
var notOfJob = []string{socketDir, "TASKRUN_EXEC_ID", "_"}

// variables returns the variables of an environment as they are compared: without
// what differs from run to run, and without secrets.
func (c *collector) variables(own *strings.Replacer, text string) map[compare.Key]string {
	separator := "\n"
	if strings.Contains(text, "\x00") {
		separator = "\x00"
	}
	env := map[string]string{}
	for entry := range strings.SplitSeq(text, separator) {
		if name, value, ok := strings.Cut(entry, "="); ok && !slices.Contains(notOfJob, name) {
			env[name] = value
		}
	}
	same := func(text string) string { return own.Replace(scrub.Text(text)) }
	values := map[compare.Key]string{}
	for name, value := range env {
		if name == "NOMAD_TOKEN" || strings.HasPrefix(name, "NOMAD_TOKEN_") {
			value = hidden // it differs from run to run
		} else {
			value = c.Hide.Variable(name, value, same)
		}
		values[compare.Key{Kind: compare.Variable, Name: name}] = value
	}
	return values
}
