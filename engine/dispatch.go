package engine

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// maxPayload is the largest payload of a dispatch, in bytes, as in Nomad.
const maxPayload = 16 << 10

// validPrefix matches a valid prefix of the ID of a dispatched job.
var validPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{0,64}$`) })

// Dispatch is an order to run a parameterized job.
type Dispatch struct {
	Payload  []byte
	Meta     map[string]string
	Prefix   string // in the ID of the job that it runs as; may be empty
	Priority int    // of that job; 0 is its parent's
	// Token, if there is one, makes a second dispatch with it the first one.
	Token string
}

// dispatched returns the ID of the child that was dispatched with a token, or "".
func (c *children) dispatched(token string) string {
	if token == "" {
		return ""
	}
	<-c.parent.ready
	for _, child := range c.all() {
		if t := child.job.DispatchIdempotencyToken; t != nil && *t == token {
			return *child.job.ID
		}
	}
	return ""
}

// checkDispatch says what a dispatch lacks, in Nomad's words.
//
//nolint:staticcheck // which begin with capitals
func checkDispatch(p *api.ParameterizedJobConfig, payload []byte, meta map[string]string) error {
	switch {
	case p.Payload == "required" && len(payload) == 0:
		return errors.New("Payload is not provided but required by parameterized job")
	case p.Payload == "forbidden" && len(payload) > 0:
		return errors.New("Payload provided but forbidden by parameterized job")
	case len(payload) > maxPayload:
		return fmt.Errorf("Payload exceeds maximum size; %d > %d", len(payload), maxPayload)
	}
	var unpermitted, missing []string
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains(p.MetaRequired, key) && !slices.Contains(p.MetaOptional, key) {
			unpermitted = append(unpermitted, key)
		}
	}
	for _, key := range p.MetaRequired {
		if _, ok := meta[key]; !ok {
			missing = append(missing, key)
		}
	}
	switch {
	case len(unpermitted) > 0:
		return fmt.Errorf("Dispatch request included unpermitted metadata keys: %v", unpermitted)
	case len(missing) > 0:
		return fmt.Errorf("Dispatch did not provide required meta keys: %v", missing)
	}
	return nil
}

// Dispatch runs a parameterized job of this engine, and returns the ID of the
// job that it runs as; again says that this was dispatched before. The errors
// are those of `nomad job dispatch`.
func (j JobHandle) Dispatch(d Dispatch) (id string, again bool, err error) {
	r, err := j.engine.runs.find(j.key)
	switch {
	case err != nil:
		return "", false, errors.New("parameterized job not found")
	case !r.job.IsParameterized():
		return "", false, fmt.Errorf("Specified job %q is not a parameterized job", j.key) //nolint:staticcheck // Nomad's words
	}
	job := r.newest.Load()
	if isStopped(job) {
		return "", false, fmt.Errorf("Specified job %q is stopped", j.key) //nolint:staticcheck // Nomad's words
	}
	if err := checkDispatch(job.ParameterizedJob, d.Payload, d.Meta); err != nil {
		return "", false, err
	}
	if !validPrefix().MatchString(d.Prefix) {
		return "", false, fmt.Errorf("cannot use %q in the ID of a job: it may have up to 64 letters, digits, dots, hyphens and underscores", d.Prefix)
	}
	r.children.dispatching.Lock()
	defer r.children.dispatching.Unlock()
	if id := r.children.dispatched(d.Token); id != "" {
		return id, true, nil
	}
	if d.Prefix != "" {
		d.Prefix += "-"
	}
	id = fmt.Sprintf("%s/dispatch-%s%d-%s", *job.ID, d.Prefix, time.Now().Unix(), r.host.cfg.Chance.ID("dispatch", j.key)[:8])
	child := newChild(job, id)
	child.Dispatched = true
	child.Payload = slices.Clone(d.Payload)
	child.Meta = maps.Clone(job.Meta)
	if child.Meta == nil {
		child.Meta = map[string]string{}
	}
	maps.Copy(child.Meta, d.Meta)
	if d.Priority > 0 {
		child.Priority = &d.Priority
	}
	if d.Token != "" {
		child.DispatchIdempotencyToken = &d.Token
	}
	return id, false, r.children.launch(child, store.Change{})
}
