package store

// Wake prepares the recorder for a user who stores much. It opens the files of a
// resting recorder.
func (r *Recorder) Wake() error {
	if r.journal == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
	r.rests, r.journal.keeps = true, true
	return r.open()
}

// Rest takes back a Wake. The recorder rests once each Wake was taken back: it
// has no open file, and keeps no records in memory. Each use opens the files
// again for its time. Rest reports whether the recorder rests.
func (r *Recorder) Rest() bool {
	if r.journal == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users--
	r.idle()
	return r.users == 0
}

// Resting reports whether the recorder rests.
func (r *Recorder) Resting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users == 0
}

// Try stores a change without events. If that fails, nothing has changed, and the
// recorder is as good as before.
func (r *Recorder) Try(c Change) error {
	record, err := c.record()
	if err != nil || r.journal == nil {
		return err
	}
	return r.use(func(j *journal) error { return j.try(record) })
}
