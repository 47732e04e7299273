// Package recording describes the results of running a job, on Nomad or on
// taskrun, and compares two such descriptions. It is pure.
package recording

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// Recording describes what happened to the allocations of a job, and the
// responses to requests.
type Recording struct {
	Allocs      []Alloc        `json:"allocs"`
	JobStatus   string         `json:"job_status"`
	Registered  string         `json:"register_output"`
	Commands    []Command      `json:"cli"`
	AllocLists  [][]AllocLine  `json:"alloc_lists"`
	Deployments [][]Deployment `json:"deployments"`
}

// Alloc is the final state of an allocation. Values that were not recorded are
// nil.
type Alloc struct {
	Name        string          `json:"name"`
	Status      string          `json:"client_status"`
	Description string          `json:"client_description"`
	Previous    bool            `json:"previous"` // it replaced another one
	Desired     *string         `json:"desired"`
	Healthy     *bool           `json:"healthy"`
	Version     *uint64         `json:"version"` // of the job
	Created     float64         `json:"created"` // seconds after the first one
	Tasks       map[string]Task `json:"tasks"`
	Files       []File          `json:"files"`
	Trace       *string         `json:"trace"` // the file alloc/data/trace
}

// Task is the final state of a task, with its latest events.
type Task struct {
	State    string  `json:"state"`
	Failed   bool    `json:"failed"`
	Restarts int     `json:"restarts"`
	Events   []Event `json:"events"`
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr"`
}

// Event is an event of a task.
type Event struct {
	At      float64           `json:"at"` // seconds after its allocation was created
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Details map[string]string `json:"details"`
}

// Command is the output of a command of the nomad CLI.
type Command struct {
	Line           string
	Code           int
	Stdout, Stderr string
}

// UnmarshalJSON reads [line, code, stdout, stderr].
func (c *Command) UnmarshalJSON(text []byte) error {
	return tuple(text, &c.Line, &c.Code, &c.Stdout, &c.Stderr)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (c Command) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Line, c.Code, c.Stdout, c.Stderr})
}

// AllocLine is an allocation in a list of a job's allocations.
type AllocLine struct {
	Name, Status, Desired string
	Version               uint64
}

// UnmarshalJSON reads [name, client status, desired status, job version].
func (l *AllocLine) UnmarshalJSON(text []byte) error {
	return tuple(text, &l.Name, &l.Status, &l.Desired, &l.Version)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (l AllocLine) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{l.Name, l.Status, l.Desired, l.Version})
}

// Deployment is a deployment in a list of a job's deployments.
type Deployment struct {
	Status, Description string
	Version             uint64
	Groups              map[string]DeploymentGroup
}

// UnmarshalJSON reads [status, description, job version, {group: …}].
func (d *Deployment) UnmarshalJSON(text []byte) error {
	return tuple(text, &d.Status, &d.Description, &d.Version, &d.Groups)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Deployment) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{d.Status, d.Description, d.Version, d.Groups})
}

// DeploymentGroup is the progress of a group.
type DeploymentGroup struct {
	Desired, Canaries, Placed, Healthy, Unhealthy int
	Promoted, AutoRevert                          bool
}

// UnmarshalJSON reads the fields in order, as an array.
func (g *DeploymentGroup) UnmarshalJSON(text []byte) error {
	return tuple(text, &g.Desired, &g.Canaries, &g.Placed, &g.Healthy, &g.Unhealthy, &g.Promoted, &g.AutoRevert)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (g DeploymentGroup) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{g.Desired, g.Canaries, g.Placed, g.Healthy, g.Unhealthy, g.Promoted, g.AutoRevert})
}

// File is a file or directory of an allocation.
type File struct {
	Path, Mode string // such as "drwxrwxrwx"
	UID, GID   int
	Size       int64 // 0 except for regular files
}

// Mode formats a mode like ls.
func Mode(m fs.FileMode) string {
	text := []byte("-" + m.Perm().String()[1:])
	switch {
	case m.IsDir():
		text[0] = 'd'
	case m&fs.ModeNamedPipe != 0:
		text[0] = 'p'
	case m&fs.ModeSymlink != 0:
		text[0] = 'l'
	case m&fs.ModeSocket != 0:
		text[0] = 's'
	}
	if m&fs.ModeSticky != 0 {
		text[9] = 't'
	}
	return string(text)
}

// UnmarshalJSON reads [path, mode, uid, gid, size].
func (f *File) UnmarshalJSON(text []byte) error {
	return tuple(text, &f.Path, &f.Mode, &f.UID, &f.GID, &f.Size)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (f File) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{f.Path, f.Mode, f.UID, f.GID, f.Size})
}

// tuple reads an array into fields.
func tuple(text []byte, fields ...any) error {
	var values []json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	if len(values) != len(fields) {
		return fmt.Errorf("%s: %d values instead of %d", text, len(values), len(fields))
	}
	for i, field := range fields {
		if err := json.Unmarshal(values[i], field); err != nil {
			return err
		}
	}
	return nil
}
