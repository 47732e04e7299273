package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
)

// record writes down how the run ended, for every job.
func (r *run) record(jobs []*api.Job) error {
	dirs := r.engine.RunDirs()
	maps.Copy(dirs, r.dirs)
	result := resultOf(r.verdict)
	var errs []error
	for _, j := range jobs {
		dir := dirs[*j.ID]
		if dir == "" {
			continue // it was not begun
		}
		s := view.Summarise(r.verdict.Run, *j.ID, r.began, result)
		s.Cause, s.User = result.Cause, result.User
		if err := writeSummary(dir, &s); err != nil {
			errs = append(errs, fmt.Errorf("cannot keep how job %q ended: %w", *j.ID, err))
		}
	}
	return errors.Join(errs...)
}

// writeSummary puts it there whole or not at all.
func writeSummary(dir string, s *view.Summary) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, source.SummaryFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// readSummary returns how a run ended, nil when it has not, or was killed.
func readSummary(dir string) (*view.Summary, error) {
	text, err := os.ReadFile(filepath.Join(dir, source.SummaryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &view.Summary{}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read how the run in %q ended: %w", dir, err)
	}
	return s, nil
}
