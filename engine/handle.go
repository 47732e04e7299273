package engine

// JobHandle asks about a job, and gives it orders. If there is no such job, they
// return an error or nothing.
type JobHandle struct {
	engine *Engine
	key    string
}

// Handle returns a handle on the job with a key.
func (e *Engine) Handle(key string) JobHandle { return JobHandle{e, key} }

// order calls f with the job's lock held, once the state left by an earlier engine is
// known.
func (j JobHandle) order(f func(*jobRun) error) error {
	_, err := withJob(j.engine, j.key, func(r *jobRun) (struct{}, error) { return struct{}{}, f(r) })
	return err
}

// withJob returns the result of f for a job. It waits until the state left by
// an earlier engine is known, and calls f with the job's lock held.
func withJob[T any](e *Engine, key string, f func(*jobRun) (T, error)) (answer T, err error) {
	r, err := e.runs.find(key)
	if err != nil {
		return answer, err
	}
	r.lock()
	defer r.mu.Unlock()
	return f(r)
}
