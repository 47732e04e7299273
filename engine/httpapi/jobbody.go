package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"
)

// What a request with a job may bring. In memory a job is many times as large
// as its text, and some of its blocks are a hundred times as large.
const (
	maxJob     = 8 << 20 // bytes of a request with a job
	maxSource  = 1 << 20 // bytes of a job file, as in Nomad
	maxBlocks  = 100_000 // objects and lists in a job
	maxValues  = 1 << 20 // all that is in them
	maxTasks   = 10_000  // groups and tasks in a job
	jobsAtOnce = 2       // requests
)

// withJob makes a handler of requests that bring a job, which are carried out
// a few at a time.
func withJob(do func(*Server, http.ResponseWriter, *request) (any, error)) handler {
	carryOut := write(do)
	return func(s *Server, w http.ResponseWriter, r *request) error {
		select {
		case s.jobs <- struct{}{}:
			defer func() { <-s.jobs }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
		return carryOut(s, w, r)
	}
}

// decodeJob is decode for a body with a job.
func (r *request) decodeJob(w http.ResponseWriter, into any) error {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJob))
	if err == nil && len(text) == 0 {
		err = errors.New("Request body is empty") //nolint:staticcheck // Nomad's words
	}
	if blocks, values := count(text); err == nil && (blocks > maxBlocks || values > maxValues) {
		err = fmt.Errorf("the job is too large: it has %d objects and lists with %d values, and %d with %d are the most", blocks, values, maxBlocks, maxValues)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	return control.SetReadDeadline(time.Time{})
}

// count counts the objects and lists of a JSON text, and about how many values
// are in them.
func count(text []byte) (blocks, values int) {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case !inString:
			switch c {
			case '{', '[':
				blocks++
			case ',':
				values++
			}
		case c == '\\':
			i++
		}
	}
	return blocks, values
}

// checkSize refuses a job that would become too large when it is
// canonicalised.
func checkSize(job *api.Job) error {
	n := 0
	for _, g := range job.TaskGroups {
		n++
		if g != nil {
			n += len(g.Tasks)
		}
	}
	if n > maxTasks {
		return fail(http.StatusBadRequest, "the job has %d groups and tasks: %d are the most", n, maxTasks)
	}
	return nil
}
