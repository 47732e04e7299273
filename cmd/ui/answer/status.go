package answer

import (
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// Status is the state of runs at one moment, as `ps` shows it.
type Status struct {
	Jobs   []JobStatus
	Allocs []AllocStatus
	Tasks  []TaskStatus
	// Services are the services with a port.
	Services []ServiceStatus
	// Namespaces says that the table names each job with its namespace.
	Namespaces bool
}

type (
	// JobStatus is a job of a run or of a cluster.
	JobStatus struct {
		Job string `json:"job"`
		// Namespace is empty for the default one.
		Namespace string `json:"namespace,omitempty"`
		Status    string `json:"status"`            // pending, running or dead
		PID       int    `json:"pid"`               // of the run; 0: of a cluster
		Socket    string `json:"socket"`            // of the run
		Address   string `json:"address"`           // of the cluster
		RunDir    string `json:"run_dir,omitempty"` // of a run that has ended
	}

	// AllocStatus is an allocation.
	AllocStatus struct {
		ui.Origin
		Status      string `json:"status"`
		Description string `json:"description"`
	}

	// TaskStatus is a task of an allocation.
	TaskStatus struct {
		ui.Origin
		event.TaskState
		StartedAt  *time.Time `json:"started_at"`
		FinishedAt *time.Time `json:"finished_at"`

		Label string        `json:"target"` // name for other commands
		Ran   time.Duration `json:"-"`
	}

	// ServiceStatus is a service of an allocation.
	ServiceStatus struct {
		ui.Origin
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Port       int      `json:"port"`
		Tags       []string `json:"tags"`
		Registered bool     `json:"registered"` // always
	}
)

// WriteStatus writes a status: as a table, as objects of the types that a run
// has, or only the labels of the tasks.
func WriteStatus(to To, st Status) error {
	if to.Mode != ui.JSON {
		label := func(t TaskStatus) string { return t.Label }
		return write(to, "", st.Tasks, label, func(out io.Writer) {
			style, width := to.style(), to.Streams.TableWidth()
			ui.WriteLines(out, st.table(style, width))
			if len(st.Services) > 0 {
				ui.WriteLines(out, append([]string{""}, st.addresses(style, width)...))
			}
		})
	}
	return errors.Join(
		write(to, "run", st.Jobs, nil, nil), write(to, "alloc_status", st.Allocs, nil, nil),
		write(to, "task_state", st.Tasks, nil, nil), write(to, "service", st.Services, nil, nil))
}

// table returns a line for each task, and for each job without tasks. Lines fit
// the width of a terminal; if it is 0, nothing is cut.
func (st Status) table(style *ui.Style, width int) []string {
	narrow := width > 0 && width < 60
	table := ui.NewTable(style, 4, "JOB", "TASK", "STATE", "ALLOC", "EXIT", "RESTARTS", "DURATION")
	if narrow {
		table = ui.NewTable(style, 3, "JOB", "TASK", "STATE", "EXIT", "RST", "TIME")
	}
	add := func(paint func(string) string, cells ...string) {
		if narrow {
			cells = slices.Delete(cells, 3, 4)
		}
		table.Add(paint, cells...)
	}
	shown, named := make(map[string]bool), st.jobs()
	for _, t := range st.Tasks {
		job, exit, ran := named(t.Namespace, t.Job), "-", "-"
		shown[job] = true
		if t.ExitCode != nil {
			exit = strconv.Itoa(*t.ExitCode)
		}
		if t.StartedAt != nil {
			ran = prose.Brief(t.Ran)
		}
		add(t.paint(style), job, t.Label, t.state(), prose.ShortID(t.AllocID), exit, strconv.FormatUint(t.Restarts, 10), ran)
	}
	for _, j := range st.Jobs {
		if job := named(j.Namespace, j.Job); !shown[job] {
			add(style.Waiting, job, "-", j.Status, "-", "-", "-", "-")
		}
	}
	return table.Fit(width, 2).Lines()
}

// jobs returns a function that names jobs: with their namespaces if there are
// several, or if Namespaces says so.
func (st Status) jobs() func(namespace, job string) string {
	several := st.Namespaces
	for _, j := range st.Jobs {
		several = several || j.Namespace != st.Jobs[0].Namespace
	}
	return func(namespace, job string) string {
		if namespace == "" || !several {
			return job
		}
		return job + "@" + namespace
	}
}

// addresses returns a line for each service with a URL for a browser. Not every
// service uses HTTP, but most of those that one wants to look at do.
func (st Status) addresses(style *ui.Style, width int) []string {
	table, named := ui.NewTable(style, 3, "JOB", "SERVICE", "ADDRESS"), st.jobs()
	for _, s := range st.Services {
		table.Add(style.Note, named(s.Namespace, s.Job), s.Name, "http://"+net.JoinHostPort(s.Address, strconv.Itoa(s.Port)))
	}
	return table.Fit(width, 2).Lines()
}

func (t TaskStatus) state() string {
	if t.Failed && t.State == "dead" {
		return "failed"
	}
	if t.Halted {
		return "stopped"
	}
	return t.State
}

func (t TaskStatus) paint(style *ui.Style) func(string) string {
	switch {
	case t.Failed && t.State == "dead":
		return style.Bad
	case t.State == "running":
		return style.Good
	case t.State == "pending" && !t.Halted:
		return style.Waiting
	}
	return style.Quiet
}
