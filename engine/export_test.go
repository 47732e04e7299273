package engine

import "taskrun/engine/store"

// OnRecorder makes the engine call f with the recorder of each run, before it
// stores anything.
func OnRecorder(e *Engine, f func(*store.Recorder)) { e.onRecorder = f }

// LimitFiles sets how many descriptors the jobs of an engine may have.
func LimitFiles(e *Engine, limit int) { e.files.limit = limit }
