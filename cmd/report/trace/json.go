package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// Forms of a trace for other programs.
type (
	traceObject struct {
		Jobs       []string     `json:"jobs"`
		Status     string       `json:"status"`
		Live       bool         `json:"live"`
		Begin      time.Time    `json:"begin"`
		End        time.Time    `json:"end"`
		Rows       []rowObject  `json:"tasks"`
		Marks      []markObject `json:"marks"`
		Critical   []stepObject `json:"critical_path"`
		CriticalMS float64      `json:"critical_path_ms"`
		Omitted    int          `json:"omitted"`
	}
	rowObject struct {
		Name     string       `json:"name"`
		Job      string       `json:"job"`
		Group    string       `json:"group"`
		Alloc    string       `json:"alloc"`
		AllocID  string       `json:"alloc_id"`
		Task     string       `json:"task"`
		Attempt  int          `json:"attempt"`
		Merged   int          `json:"merged,omitempty"`
		Stage    Stage        `json:"stage,omitempty"`
		State    string       `json:"state"`
		Failed   bool         `json:"failed"`
		ExitCode *int         `json:"exit_code,omitempty"`
		Restarts uint64       `json:"restarts"`
		Spans    []spanObject `json:"spans"`
		Marks    []markObject `json:"marks"`
		Omitted  int          `json:"omitted,omitempty"`
	}
	spanObject struct {
		Kind  Kind      `json:"kind"`
		From  time.Time `json:"from"`
		To    time.Time `json:"to"`
		Open  bool      `json:"open,omitempty"`
		For   string    `json:"for,omitempty"`
		After string    `json:"after,omitempty"` // name of a task
		Count int       `json:"count"`
	}
	markObject struct {
		Time   time.Time `json:"time"`
		Kind   MarkKind  `json:"kind"`
		Title  string    `json:"title"`
		Detail string    `json:"detail,omitempty"`
		Weight string    `json:"weight"`
	}
	stepObject struct {
		Name  string    `json:"name,omitempty"` // of a task; empty: the run
		Kind  Kind      `json:"kind"`
		From  time.Time `json:"from"`
		To    time.Time `json:"to"`
		Count int       `json:"count"`
		Share float64   `json:"share"`
	}
)

var weights = map[fold.Weight]string{fold.Ordinary: "ordinary", fold.Setback: "setback", fold.Trouble: "trouble"}

// JSON writes a trace as one JSON object in one line.
func JSON(w io.Writer, t *Trace) error {
	o := traceObject{
		Jobs: t.Jobs, Status: t.Status, Live: t.Live, Begin: t.Begin.UTC(), End: t.End.UTC(), Rows: []rowObject{}, Marks: marksOf(t.Marks),
		Critical: []stepObject{}, CriticalMS: t.Length.Seconds() * 1000, Omitted: t.Omitted,
	}
	for _, r := range t.Rows {
		row := rowObject{
			Name: r.Name, Job: r.Alloc.Job, Group: r.Alloc.Group, Alloc: r.Alloc.Name, AllocID: r.Alloc.ID, Task: r.Task,
			Attempt: r.Attempt, Merged: r.Merged, Stage: r.Stage, State: r.State, Failed: r.Failed, ExitCode: r.ExitCode,
			Restarts: r.Restarts, Spans: []spanObject{}, Marks: marksOf(r.Marks), Omitted: r.Omitted,
		}
		for _, s := range r.Spans {
			span := spanObject{Kind: s.Kind, From: s.From.UTC(), To: s.To.UTC(), Open: s.Open, For: s.For, Count: s.Count}
			if s.After != nil {
				span.After = s.After.Name
			}
			row.Spans = append(row.Spans, span)
		}
		o.Rows = append(o.Rows, row)
	}
	for _, s := range t.Critical {
		step := stepObject{Kind: s.Kind, From: s.From.UTC(), To: s.To.UTC(), Count: s.Count, Share: s.Share}
		if s.Row != nil {
			step.Name = s.Row.Name
		}
		o.Critical = append(o.Critical, step)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o); err != nil {
		return err
	}
	_, err := w.Write(visible.JSON(text.Bytes()))
	return err
}

func marksOf(marks []Mark) []markObject {
	list := make([]markObject, len(marks))
	for i, m := range marks {
		list[i] = markObject{m.Time.UTC(), m.Kind, m.Title, m.Detail, weights[m.Weight]}
	}
	return list
}
