// Package logmon is the task hook that captures a task's output. It is named
// after Nomad's hook, which uses a separate process for that.
package logmon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
	"taskrun/hooks"
)

type hook struct {
	task hooks.Task
	log  *tasklog.Log
}

// New returns the hook of a task.
func New(t hooks.Task) hooks.TaskHook { return &hook{task: t} }

func (h *hook) Name() string { return "logmon" }

// Prestart opens the log at the first start. It stays open for all later ones.
func (h *hook) Prestart(_ context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if h.log == nil {
		dir, err := h.task.Dir.Logs()
		if err != nil {
			return drivers.Recoverable(err)
		}
		log, err := tasklog.New(h.config(dir))
		if err != nil {
			return drivers.Recoverable(err)
		}
		h.log = log
		if req.Recovered {
			if err := log.Resume(); err != nil {
				return drivers.Recoverable(err)
			}
		}
	}
	resp.Output = h.log
	return nil
}

func (h *hook) config(dir *os.Root) tasklog.Config {
	spec := h.task.Task.LogConfig
	return tasklog.Config{
		Dir:         dir,
		Task:        h.task.Task.Name,
		MaxFiles:    *spec.MaxFiles,
		MaxFileSize: int64(*spec.MaxFileSizeMB) << 20,
		Disabled:    *spec.Disabled,
		Times:       allocdir.TimesOf(h.task.Dir.Path()),
		Announce: func(stream event.Stream, src event.Source, offset, length int64, at time.Time) {
			h.task.Publish(at, event.Output{Stream: stream, Source: src, Offset: offset, Length: length})
		},
		Report: func(err error) { h.task.Publish(time.Now(), event.Notice{Text: err.Error()}) },
	}
}

// Shutdown leaves the output to the next engine.
func (h *hook) Shutdown() {
	if h.log == nil {
		return
	}
	if err := h.log.Leave(); err != nil {
		h.task.Publish(time.Now(), event.Notice{Text: err.Error()})
	}
}

// Stop ends the capture. All output was drained when the task ended.
func (h *hook) Stop(context.Context) error {
	if h.log == nil { // the task was dead when this engine recovered it, or never ran
		dir, err := h.task.Dir.Logs()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the allocation was not set up either
		}
		if err != nil {
			return err
		}
		return tasklog.RemovePipes(dir, h.task.Task.Name)
	}
	return h.log.Close()
}
