package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Limits of a request with a job. In memory a job is many times as large as its
// text, and some of its blocks a hundred times.
const (
	maxJob    = 8 << 20 // bytes of a request with a job
	maxBlocks = 100_000 // objects and lists in a job
	maxValues = 1 << 20 // values in all of these
	maxTasks  = 10_000  // groups and tasks in a job
)

// WithJob returns the handler of a request with a job. Only a few such requests
// run concurrently.
func WithJob[T any](h *Handler, do func(r *rest.Request, order *T) (any, error)) rest.Handler {
	return rest.Write(func(r *rest.Request) (any, error) {
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
		order := new(T)
		if err := decodeJob(r, order); err != nil {
			return nil, err
		}
		return do(r, order)
	})
}

// decodeJob reads a body with a job.
func decodeJob(r *rest.Request, into any) error {
	return r.ReadBody(maxJob, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			return rest.ErrNoBody
		}
		if blocks, values := count(text); blocks > maxBlocks || values > maxValues {
			return fmt.Errorf("the job is too large: it has %d objects and lists with %d values, and %d with %d are the most", blocks, values, maxBlocks, maxValues)
		}
		return json.Unmarshal(text, into)
	})
}

// count returns the number of objects and lists in a JSON text, and the
// approximate number of values in them.
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

// checkSize refuses a job that would become too large when it is canonicalized.
func checkSize(job *api.Job) error {
	n := 0
	for _, g := range job.TaskGroups {
		n++
		if g != nil {
			n += len(g.Tasks)
		}
	}
	if n > maxTasks {
		return rest.Fail(http.StatusBadRequest, "the job has %d groups and tasks: %d are the most", n, maxTasks)
	}
	return nil
}

// checkNulls refuses a job with a null in place of a block, which later code
// would dereference.
func checkNulls(job *api.Job) error {
	if at := nullIn(reflect.ValueOf(job).Elem()); at != "" {
		return fmt.Errorf("null is not a value of the job's %s", at[1:])
	}
	return nil
}

// nullIn returns the path of a null element in a list or map of blocks, or "".
func nullIn(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return nullIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at := nullIn(v.Field(i)); at != "" {
				return "." + v.Type().Field(i).Name + at
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Type().Elem().Kind() != reflect.Pointer {
			return ""
		}
		for key, block := range v.Seq2() {
			if at := nullIn(block); block.IsNil() || at != "" {
				return fmt.Sprintf("[%#v]%s", key, at)
			}
		}
	default: // contains no blocks
	}
	return ""
}
