package ui

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"taskrun/jobspec/visible"
)

// Head is the start of every object of --output json.
type Head struct {
	Type string    `json:"type"`
	Time time.Time `json:"time"`
}

// Origin has the fields of an object that say where something is or happens.
type Origin struct {
	Job       string `json:"job,omitempty"`
	Namespace string `json:"namespace,omitempty"` // empty: default
	Group     string `json:"group,omitempty"`
	Alloc     string `json:"alloc,omitempty"` // <job>.<group>[<index>]
	AllocID   string `json:"alloc_id,omitempty"`
	Task      string `json:"task,omitempty"` // empty: the whole allocation or job
}

// Run has the other fields of an object of type "run".
type Run struct {
	Job     string `json:"job"`
	Version string `json:"version"`
	PID     int    `json:"pid"`               // 0: it is in a cluster, or in virtual time
	Socket  string `json:"socket"`            // empty without a socket
	DataDir string `json:"data_dir"`          // empty in virtual time
	Address string `json:"address,omitempty"` // of the cluster
	RunDir  string `json:"run_dir,omitempty"` // of a run in the background
	Log     string `json:"log,omitempty"`     // messages of a run in the background
	Ports   []Port `json:"ports,omitempty"`   // of its allocations
}

// Port is a port of this machine that is assigned to an allocation.
type Port struct {
	Alloc   string `json:"alloc"`
	Label   string `json:"label"`
	Address string `json:"address"` // HOST:PORT
}

// Diagnostic has the other fields of an object of type "diagnostic".
type Diagnostic struct {
	Severity string `json:"severity"` // error, warning or hint
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// WriteDiagnostic writes a diagnostic as an object, for diagnostics before a
// run.
func WriteDiagnostic(w io.Writer, at time.Time, d Diagnostic) error {
	return WriteObject(w, "diagnostic", at, d)
}

// WriteObject writes one line: an object of a type, with a time and the fields
// of parts.
func WriteObject(w io.Writer, kind string, at time.Time, parts ...any) error {
	line := encode(Head{kind, at.UTC()})
	for _, part := range parts {
		if fields := encode(part); len(fields) > len("{}\n") {
			line = append(append(line[:len(line)-len("}\n")], ','), fields[1:]...)
		}
	}
	_, err := w.Write(visible.JSON(line))
	return err
}

// WriteJSON writes an object of strings and numbers as one line.
func WriteJSON(w io.Writer, object any) error {
	_, err := w.Write(visible.JSON(encode(object)))
	return err
}

func encode(object any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(object) // strings and numbers can always be encoded
	return line.Bytes()
}
