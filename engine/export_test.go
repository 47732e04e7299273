package engine

import "taskrun/engine/store"

// OnRecorder has f called with the recorder of each run, before anything of
// the run is stored.
func OnRecorder(e *Engine, f func(*store.Recorder)) { e.onRecorder = f }
