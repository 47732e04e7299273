package ui

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"taskrun/jobspec/visible"
)

// Status is what runs at a moment, as `ps` shows it.
type Status struct {
	Time   time.Time
	Jobs   []JobStatus
	Allocs []AllocStatus
	Tasks  []TaskStatus
	// Services are those that are offered at a port.
	Services []ServiceStatus
}

type (
	// JobStatus is a job of a run or of a cluster.
	JobStatus struct {
		jsonHead
		Job string `json:"job"`
		// Namespace is empty for the usual one, here and below.
		Namespace string `json:"namespace,omitempty"`
		Status    string `json:"status"`            // pending, running or dead
		PID       int    `json:"pid"`               // of the run; 0: of a cluster
		Socket    string `json:"socket"`            // of the run
		Address   string `json:"address"`           // of the cluster
		RunDir    string `json:"run_dir,omitempty"` // of a run that has ended
	}

	// AllocStatus is an allocation.
	AllocStatus struct {
		jsonHead
		Job         string `json:"job"`
		Group       string `json:"group"`
		Alloc       string `json:"alloc"` // <job>.<group>[<index>]
		AllocID     string `json:"alloc_id"`
		Namespace   string `json:"namespace,omitempty"`
		Status      string `json:"status"`
		Description string `json:"description"`
	}

	// TaskStatus is a task of an allocation.
	TaskStatus struct {
		jsonHead
		Job        string     `json:"job"`
		Group      string     `json:"group"`
		Alloc      string     `json:"alloc"`
		AllocID    string     `json:"alloc_id"`
		Task       string     `json:"task"`
		Namespace  string     `json:"namespace,omitempty"`
		State      string     `json:"state"`
		Failed     bool       `json:"failed"`
		Restarts   uint64     `json:"restarts"`
		ExitCode   *int       `json:"exit_code"` // of the latest end; null before the first
		StartedAt  *time.Time `json:"started_at"`
		FinishedAt *time.Time `json:"finished_at"`

		Label string        `json:"target"` // by which other commands find it
		Ran   time.Duration `json:"-"`
	}

	// ServiceStatus is a service of an allocation.
	ServiceStatus struct {
		jsonHead
		Job        string   `json:"job"`
		AllocID    string   `json:"alloc_id"`
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Port       int      `json:"port"`
		Tags       []string `json:"tags"`
		Registered bool     `json:"registered"` // always
	}
)

// WriteStatus writes a status to stdout: as a table, as objects of the kinds
// that a run has, or as the labels of the tasks alone.
func WriteStatus(s *Streams, mode Mode, colour ColourMode, st Status) error {
	out := bufio.NewWriter(s.Out)
	switch mode {
	case JSON:
		st.writeJSON(out)
	case Quiet:
		for _, t := range st.Tasks {
			out.WriteString(visible.String(t.Label) + "\n")
		}
	default:
		width := 0
		if s.OutTerm {
			width = s.Width()
		}
		style := s.OutStyle(colour)
		writeLines(out, st.table(style, width))
		if len(st.Services) > 0 {
			writeLines(out, append([]string{""}, st.addresses(style, width)...))
		}
	}
	return out.Flush()
}

func (st Status) writeJSON(w io.Writer) {
	for _, j := range st.Jobs {
		j.jsonHead = head("run", st.Time)
		writeJSON(w, j)
	}
	for _, a := range st.Allocs {
		a.jsonHead = head("alloc_status", st.Time)
		writeJSON(w, a)
	}
	for _, t := range st.Tasks {
		t.jsonHead = head("task_state", st.Time)
		writeJSON(w, t)
	}
	for _, s := range st.Services {
		s.jsonHead = head("service", st.Time)
		writeJSON(w, s)
	}
}

// table returns a line for each task, and for each job that has none. Lines
// fit into a terminal's width; with 0 columns nothing is cut.
func (st Status) table(style *Style, width int) []string {
	heads := []string{"JOB", "TASK", "STATE", "ALLOC", "EXIT", "RESTARTS", "DURATION"}
	narrow := width > 0 && width < 60
	if narrow {
		heads = []string{"JOB", "TASK", "STATE", "EXIT", "RST", "TIME"}
	}
	rows := []row{{heads, style.Strong}}
	shown, named := make(map[string]bool), st.jobs()
	for _, t := range st.Tasks {
		job := named(t.Namespace, t.Job)
		shown[job] = true
		cells := []string{job, t.Label, t.state(), shortID(t.AllocID), "-", strconv.FormatUint(t.Restarts, 10), "-"}
		if t.ExitCode != nil {
			cells[4] = strconv.Itoa(*t.ExitCode)
		}
		if t.StartedAt != nil {
			cells[6] = brief(t.Ran)
		}
		if narrow {
			cells = append(cells[:3], cells[4:]...)
		}
		rows = append(rows, row{cells, t.paint(style)})
	}
	for _, j := range st.Jobs {
		job := named(j.Namespace, j.Job)
		if shown[job] {
			continue
		}
		cells := []string{job, "-", j.Status, "-", "-", "-", "-"}[:len(heads)]
		rows = append(rows, row{cells, style.Waiting})
	}
	words := 4
	if narrow {
		words = 3
	}
	if width > 0 {
		fit(rows, width, 2)
	}
	return align(rows, words)
}

// jobs returns what names jobs: with their namespaces, where there are several.
func (st Status) jobs() func(namespace, job string) string {
	several := false
	for _, j := range st.Jobs {
		several = several || j.Namespace != st.Jobs[0].Namespace
	}
	return func(namespace, job string) string {
		if namespace == "" || !several {
			return job
		}
		return namespace + ":" + job
	}
}

// addresses returns a line for each service, with where a browser finds it; not
// every service speaks HTTP, but most that one wants to look at.
func (st Status) addresses(style *Style, width int) []string {
	rows := []row{{[]string{"JOB", "SERVICE", "ADDRESS"}, style.Strong}}
	for _, s := range st.Services {
		address := "http://" + net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
		rows = append(rows, row{[]string{s.Job, s.Name, address}, style.Note})
	}
	if width > 0 {
		fit(rows, width, 2)
	}
	return align(rows, len(rows[0].cells))
}

// brief returns a duration in its two largest units.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return short(d)
	case d < time.Hour:
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}

// state is the word for the task's state.
func (t TaskStatus) state() string {
	if t.Failed && t.State == "dead" {
		return "failed"
	}
	return t.State
}

func (t TaskStatus) paint(style *Style) func(string) string {
	switch {
	case t.Failed && t.State == "dead":
		return style.Bad
	case t.State == "running":
		return style.Good
	case t.State == "pending":
		return style.Waiting
	}
	return style.Quiet
}
