package cmd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/lookup"
	"taskrun/cmd/record"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
)

type psOptions struct {
	lookup.Connection
	mode ui.Mode
	all  bool

	orphans bool
}

func newPsCommand(a *app) *cobra.Command {
	opts := psOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:     "ps [TARGET...]",
		Aliases: []string{"status"},
		Short:   "Show the tasks of running jobs",
		Long: `Show the tasks of all running jobs, or those that TARGET names. TASK is the
shortest name by which "exec" and "logs" find a task. For a job that is not
running, show its latest run and how that ended; with --all, for all such jobs.

With --orphans show the processes that runs of this user left behind when both
taskrun and its keeper were killed. Any other command kills them and says so.

` + lookup.TargetHelp + `

Output:
  plain  a table
  json   one object per line, as "taskrun up" writes them: "run" for each job,
         "alloc_status" for each allocation, "task_state" for each task,
         "service" for each service at a port
  quiet  only the names of the tasks

Exit codes:
  0  success, even if nothing is running
  1  no task matches TARGET
  2  the call is wrong`,
		Example: `  taskrun ps
  taskrun ps --output json | jq -r 'select(.failed).target'`,
		ValidArgsFunction: completeTargets(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.orphans {
				if _, err := opts.Remote(orphansFlag); err != nil {
					return err
				}
				return listOrphans(a, opts.mode)
			}
			return runPs(cmd.Context(), a, args, opts)
		},
	}
	flags := cmd.Flags()
	opts.Bind(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.BoolVarP(&opts.all, "all", "a", false, "also show replaced allocations and the latest runs that have ended; in a cluster, jobs that have ended")
	flags.BoolVar(&opts.orphans, orphansFlag, false, "show leftovers of killed runs, and do not remove them")
	completeFilters(a, cmd, &opts.Connection)
	return cmd
}

func runPs(ctx context.Context, a *app, targets []string, opts psOptions) error {
	servers, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return err
	}
	selected, err := client.Select(all, targets)
	if opts.Cluster.Address == "" && (err != nil || len(all) == 0 && opts.Job != "") {
		kept, among, runs, failure := a.runs.EndedTasks(ctx, opts.DataDir, opts.Job, targets)
		if failure == nil && len(runs) > 0 {
			st := answer.Status{}
			addEnded(a, &st, kept, among.Of(kept), runs, opts)
			return answer.WriteStatus(a.Answer(opts.mode), st)
		}
	}
	if err != nil {
		return lookup.TargetError(err, all, verdict.Failed)
	}
	tasks := selected.Of(all)
	if !opts.all {
		tasks = slices.DeleteFunc(tasks, (*client.Task).Replaced)
	}
	known, _ := client.ListJobs(ctx, servers) // listing the tasks has reported servers that do not answer
	if !opts.all && opts.Job == "" && len(targets) == 0 {
		tasks, known = current(tasks, known)
	}
	st := statusOf(tasks, client.Labels(all), time.Now())
	for _, j := range known {
		asked := opts.Job == "" && len(targets) == 0 || event.NamesJob(opts.Job, j.Key())
		if asked || slices.ContainsFunc(tasks, func(t *client.Task) bool { return t.Server == j.Server && t.JobKey() == j.Key() }) {
			st.Jobs = append(st.Jobs, answer.JobStatus{
				Job: j.ID, Namespace: unusual(j.Namespace), Status: j.Status, PID: httpapi.PID(j.Server.Socket), Socket: j.Server.Socket, Address: j.Server.Address,
			})
		}
	}
	st.Namespaces = slices.ContainsFunc(servers, func(s *client.Server) bool { return s.Namespace() == api.AllNamespacesNamespace })
	st.Services = services(ctx, servers, st.Allocs)
	if opts.all && opts.Cluster.Address == "" && len(targets) == 0 {
		runs, err := a.runs.EndedRuns(ctx, opts.DataDir, opts.Job)
		if err != nil {
			return err
		}
		for _, r := range runs {
			tasks, err := r.Tasks()
			if err != nil {
				return err
			}
			addEnded(a, &st, tasks, tasks, []*record.Run{r}, opts)
		}
	}
	if len(st.Jobs) == 0 && len(st.Tasks) == 0 && opts.mode == ui.Plain {
		fmt.Fprintf(a.Streams.Err, "no job runs %s; start one with: taskrun up FILE\n", lookup.PlaceOf(opts.DataDir))
		return nil
	}
	return answer.WriteStatus(a.Answer(opts.mode), st)
}

// addEnded adds tasks of ended runs to a status, and says how the runs ended.
// Labels are unambiguous among all.
func addEnded(a *app, st *answer.Status, all, tasks []*client.Task, runs []*record.Run, opts psOptions) {
	if !opts.all {
		tasks = slices.DeleteFunc(tasks, (*client.Task).Replaced)
	}
	ended := statusOf(tasks, client.Labels(all), time.Now())
	st.Allocs, st.Tasks = append(st.Allocs, ended.Allocs...), append(st.Tasks, ended.Tasks...)
	for _, r := range runs {
		if opts.mode == ui.Plain {
			a.Say("%v", r)
		}
		namespace, id := event.SplitJobKey(r.Job)
		st.Namespaces = st.Namespaces || id != r.Job
		st.Jobs = append(st.Jobs, answer.JobStatus{Job: id, Namespace: unusual(namespace), Status: r.Status(), RunDir: r.Dir})
	}
}

func statusOf(tasks []*client.Task, labels map[*client.Task]string, now time.Time) answer.Status {
	st := answer.Status{}
	seen := make(map[string]bool)
	for _, t := range tasks {
		a := t.Alloc
		if !seen[a.ID] {
			seen[a.ID] = true
			st.Allocs = append(st.Allocs, answer.AllocStatus{
				Origin: allocOrigin(a), Status: a.ClientStatus, Description: a.ClientDescription,
			})
		}
		if t.Name == "" {
			continue
		}
		st.Tasks = append(st.Tasks, answer.TaskStatus{
			Origin: originOf(t), Label: labels[t],
			TaskState: event.TaskState{State: t.State.State, Failed: t.State.Failed, Restarts: t.State.Restarts, ExitCode: t.ExitCode(), Halted: t.Halted()},
			StartedAt: timeOrNil(t.State.StartedAt), FinishedAt: timeOrNil(t.State.FinishedAt), Ran: t.Ran(now),
		})
	}
	return st
}

func originOf(t *client.Task) ui.Origin {
	o := allocOrigin(t.Alloc)
	o.Task = t.Name
	return o
}

func allocOrigin(a *api.AllocationListStub) ui.Origin {
	return ui.Origin{Job: a.JobID, Namespace: unusual(a.Namespace), Group: a.TaskGroup, Alloc: a.Name, AllocID: a.ID}
}

// services returns the services that allocations offer at ports. It omits those
// of a cluster, which this machine cannot use.
func services(ctx context.Context, servers []*client.Server, allocs []answer.AllocStatus) (found []answer.ServiceStatus) {
	lists := make([][]*api.ServiceRegistration, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		if s.Socket != "" {
			asking.Go(func() { lists[i], _, _ = s.Services(ctx, 0) }) // listing the tasks has reported servers that do not answer
		}
	}
	asking.Wait()
	for _, s := range slices.Concat(lists...) {
		shown := slices.ContainsFunc(allocs, func(a answer.AllocStatus) bool { return a.AllocID == s.AllocID })
		if shown && s.Port > 0 {
			found = append(found, answer.ServiceStatus{
				Origin: ui.Origin{Job: s.JobID, Namespace: unusual(s.Namespace), AllocID: s.AllocID}, ID: s.ID, Name: s.ServiceName,
				Address: s.Address, Port: s.Port, Tags: s.Tags, Registered: true,
			})
		}
	}
	return found
}

// unusual returns a namespace, or "" for the default one.
func unusual(namespace string) string {
	if namespace == api.DefaultNamespace {
		return ""
	}
	return namespace
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// current removes jobs of which nothing runs, from servers that remember them for
// hours: clusters and agents.
func current(tasks []*client.Task, jobs []client.Job) ([]*client.Task, []client.Job) {
	remembers := func(s *client.Server) bool { return s.Socket == "" || s.Namespace() == api.AllNamespacesNamespace }
	jobs = slices.DeleteFunc(jobs, func(j client.Job) bool { return remembers(j.Server) && j.Status == "dead" })
	tasks = slices.DeleteFunc(tasks, func(t *client.Task) bool {
		return remembers(t.Server) && t.Ended() && !slices.ContainsFunc(jobs, func(j client.Job) bool {
			return j.Server == t.Server && j.Key() == t.JobKey()
		})
	})
	return tasks, jobs
}
