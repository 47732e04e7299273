package onscreen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/lookup"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui/screen"
	"taskrun/drivers/process/keeper"
)

// carryOut carries out the orders of the model, and reports whether the user has left.
func (s *Session) carryOut(ctx context.Context) (left bool, err error) {
	for _, o := range s.model.Orders() {
		switch o.Verb {
		case screen.Leave:
			if left = s.leaves(ctx, o.Text); left {
				return true, nil
			}
		case screen.Suspend:
			err = s.term.Suspend()
		case screen.Redraw:
			s.term.Redraw()
		case screen.ToggleMouse:
			if s.term.ToggleMouse() {
				s.model.Say("taskrun has the mouse")
			} else {
				s.model.Say("the terminal has the mouse: it can select text")
			}
		case screen.Copy:
			s.term.Copy(o.Text)
			s.model.Say("copied, if the terminal can (OSC 52)")
		case screen.Shell:
			err = s.handOver(o, "exec", "--", "sh", "-c", shell)
			s.Own.tookOver(ctx, s)
		case screen.Action:
			err = s.handOver(o, "action", o.Text)
			s.Own.tookOver(ctx, s)
		default:
			s.orderTasks(ctx, o)
		}
		if err != nil {
			return true, err
		}
	}
	return false, nil
}

// shell starts the best shell that a task has.
const shell = "command -v bash >/dev/null && exec bash; exec sh"

// handOver gives the terminal to a command of taskrun for the task of an order. It is a
// process of its own, so that no goroutine that reads keys is left behind.
func (s *Session) handOver(o screen.Order, command string, words ...string) (err error) {
	self, err := keeper.Program()
	if err != nil {
		return err
	}
	t := o.Targets[0]
	args := append([]string{command}, s.connectionArgs()...)
	if command == "action" {
		words = append([]string{"--"}, words...)
	}
	args = append(append(args, t.Alloc+"/"+t.Task), words...)
	var failure error
	s.away.Store(true)
	defer s.away.Store(false)
	err = s.term.Release(func() {
		fmt.Fprintf(s.Console.Streams.Out, "%s in %s\n", prose.OneLine(command+" "+o.Text), prose.OneLine(o.Label))
		c := exec.Command(self, args...) //nolint:noctx // it ends with its terminal
		c.Args[0] = os.Args[0]
		c.Stdin, c.Stdout, c.Stderr, c.Env = s.Console.Streams.In, s.Console.Streams.Out, s.Console.Streams.Err, s.environ()
		failure = c.Run()
		if command == "action" || failure != nil {
			fmt.Fprintf(s.Console.Streams.Out, "%s: press Enter ", endOf(failure))
			_, _ = s.Console.Streams.ReadLine()
		}
	})
	return err
}

// endOf says how a command ended.
func endOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

// connectionArgs returns the flags with which another command finds the same tasks.
// Secrets are in its environment.
func (s *Session) connectionArgs() []string {
	args := []string{"--address=" + s.At.Cluster.Address}
	if s.ConfigFile != "" {
		args = append(args, "--config="+s.ConfigFile)
	}
	if s.At.Cluster.Address == "" {
		return args
	}
	for _, name := range lookup.ClusterFlags {
		if name != "token" && name != "http-auth" && s.At.Flags.Changed(name) {
			args = append(args, "--"+name+"="+s.At.Flags.Lookup(name).Value.String())
		}
	}
	return args
}

// environ returns the environment of another command, with the secrets of the cluster.
func (s *Session) environ() []string {
	env := slices.Clone(s.Console.Environ)
	for name, value := range map[string]string{"TASKRUN_TOKEN": s.At.Cluster.Token, "TASKRUN_HTTP_AUTH": s.At.Cluster.HTTPAuth} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// orderTasks carries out an order that takes time, and shows what came of it.
func (s *Session) orderTasks(ctx context.Context, o screen.Order) {
	tasks := s.tasks(o.Targets)
	s.start(func() {
		said, err := s.give(ctx, o, tasks)
		s.do(ctx, func() {
			switch {
			case err != nil:
				s.model.Fail(err)
			case said != "":
				s.model.Say(said)
			}
		})
	})
}

// give carries out an order, and returns what to say.
func (s *Session) give(ctx context.Context, o screen.Order, tasks []*client.Task) (said string, err error) {
	switch o.Verb {
	case screen.Restart:
		return "restarted " + o.Label, toEach(tasks, func(t *client.Task) error { return t.Restart(ctx) })
	case screen.Signal:
		name, err := lookup.Signal(o.Text)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("sent %s to %s", name, o.Label), toEach(tasks, func(t *client.Task) error { return t.Signal(ctx, name) })
	case screen.Stop:
		if len(tasks) > 0 {
			return "stopped " + o.Label, toEach(tasks, func(t *client.Task) error { return t.Stop(ctx) })
		}
		return "stopping job " + o.Label, s.stopJob(ctx, o.Job)
	case screen.Start:
		return "started " + o.Label, toEach(tasks, func(t *client.Task) error { return t.Start(ctx) })
	case screen.Scale:
		job, err := s.job(ctx, o.Job)
		if err != nil {
			return "", err
		}
		_, err = job.Scale(ctx, o.Group, o.Count)
		return fmt.Sprintf("scaled group %s to %d", o.Group, o.Count), err
	case screen.Promote, screen.FailRollout:
		job, err := s.job(ctx, o.Job)
		switch {
		case err != nil:
			return "", err
		case o.Verb == screen.Promote:
			return "promoted the canaries of " + o.Label, job.Promote(ctx, o.Text, nil)
		}
		return "failed the deployment of " + o.Label, job.FailDeployment(ctx, o.Text)
	case screen.AskActions:
		actions, err := client.Actions(ctx, tasks)
		if err == nil {
			s.do(ctx, func() { s.model.ChooseAction(o, client.ActionNames(actions)) })
		}
		return "", err
	case screen.Open:
		return s.browse(ctx, tasks, o)
	default:
		return "", errors.ErrUnsupported
	}
}

// ordersAtOnce is for how many tasks an order is carried out at the same time. It may
// last as long as a task takes to stop.
const ordersAtOnce = 64

// toEach calls act with all tasks, several at the same time.
func toEach(tasks []*client.Task, act func(*client.Task) error) error {
	failures := make([]error, len(tasks))
	var acting sync.WaitGroup
	places := make(chan struct{}, ordersAtOnce)
	for i, t := range tasks {
		places <- struct{}{}
		acting.Go(func() {
			defer func() { <-places }()
			failures[i] = act(t)
		})
	}
	acting.Wait()
	return cmp.Or(failures...) // the others are like the first one
}

// job returns a job of the run by key.
func (s *Session) job(ctx context.Context, key string) (*client.Job, error) {
	jobs, errs := client.ListJobs(ctx, []*client.Server{s.Server})
	i := slices.IndexFunc(jobs, func(j client.Job) bool { return j.Key() == key })
	switch {
	case i >= 0:
		return &jobs[i], nil
	case len(errs) > 0:
		return nil, errs[0]
	}
	return nil, fmt.Errorf("job %q is not running", key)
}

// stopJob stops a job. It returns before the job has ended.
func (s *Session) stopJob(ctx context.Context, key string) error {
	if s.Server.Socket == "" {
		return s.Server.Deregister(ctx, key, api.DeregisterOptions{})
	}
	return s.Server.Stop(ctx, key, client.Stopping{})
}

// browse opens the address of a task in a browser.
func (s *Session) browse(ctx context.Context, tasks []*client.Task, o screen.Order) (string, error) {
	ports, err := client.Ports(ctx, tasks)
	if err != nil {
		return "", err
	}
	if len(ports) == 0 {
		return "", fmt.Errorf("%s has no port", o.Label)
	}
	url := console.URLOf(ports[0])
	if err := s.Console.Browser(ctx, url).Run(); err != nil {
		return "", fmt.Errorf("cannot open %s in a browser: %w", url, err)
	}
	return "opened " + url, nil
}
