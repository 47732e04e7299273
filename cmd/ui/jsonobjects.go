package ui

import "time"

// Objects of the view that are no events: those write themselves.
type (
	jsonHead struct {
		Type string    `json:"type"`
		Time time.Time `json:"time"`
	}
	jsonOrigin struct {
		Job     string `json:"job,omitempty"`
		Group   string `json:"group,omitempty"`
		Alloc   string `json:"alloc,omitempty"`
		AllocID string `json:"alloc_id,omitempty"`
		Task    string `json:"task,omitempty"`
	}
	jsonRun struct {
		jsonHead
		Job     string `json:"job"`
		Version string `json:"version"`
		PID     int    `json:"pid"`    // 0: it is in a cluster
		Socket  string `json:"socket"` // empty: there is none
		DataDir string `json:"data_dir"`
		Address string `json:"address,omitempty"` // of the cluster
	}
	jsonDiagnostic struct {
		jsonHead
		jsonOrigin
		Diagnostic
	}
)

// Diagnostic is a problem or a notice as --output json shows it.
type Diagnostic struct {
	Severity string `json:"severity"` // error or warning
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}
