package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/jobspec"
)

// maxTexts limits the listed errors, and warnings, of a response.
const maxTexts = 100

// accept checks the job of a request, refuses an invalid one, and returns
// warnings. The given texts are for a job without an ID, or with an ID other
// than the path's.
func (h *Handler) accept(r *rest.Request, order Order, job *api.Job, bodyNamespace, noID, otherID string) (warnings []string, err error) {
	switch {
	case job == nil:
		return nil, rest.Fail(http.StatusBadRequest, "Job must be specified")
	case job.ID == nil:
		return nil, rest.Fail(http.StatusBadRequest, "%s", noID)
	case r.ID != "" && r.ID != *job.ID:
		return nil, rest.Fail(http.StatusBadRequest, "%s", otherID)
	}
	h.place(r, job, bodyNamespace)
	warnings, errs := h.checkJob(order, job)
	if len(errs) > 0 {
		return nil, rest.Fail(http.StatusInternalServerError, "%s", listed("error", errs))
	}
	if h.run.Resident {
		return warnings, h.admit(job)
	}
	if now, ok := h.run.Engine.Job(*job.ID); ok && *now.Namespace != *job.Namespace { // with another namespace, it would be another job
		return nil, fmt.Errorf("cannot move job %q from namespace %q to %q: stop it and start it there", *job.ID, *now.Namespace, *job.Namespace)
	}
	return warnings, nil
}

// place sets the namespace of the job of a request. As in Nomad, that of the query,
// and then that of the body, override the job's own.
func (h *Handler) place(r *rest.Request, job *api.Job, bodyNamespace string) {
	asked := cmp.Or(r.Query.Get("namespace"), bodyNamespace)
	switch {
	case asked != "" && (h.run.Resident || asked != api.AllNamespacesNamespace):
		job.Namespace = &asked
	case job.Namespace != nil && *job.Namespace == "":
		job.Namespace = nil // the default one
	}
}

// checkJob converts a job to the form that would run, and returns its warnings
// and errors.
func (h *Handler) checkJob(order Order, job *api.Job) (warnings, errs []string) {
	if err := errors.Join(checkSize(job), checkNulls(job)); err != nil {
		return nil, []string{err.Error()}
	}
	for _, p := range h.preflight(order, job) {
		if p.Severity == jobspec.Error {
			errs = append(errs, p.Error())
		} else {
			warnings = append(warnings, p.Error())
		}
	}
	return few(warnings), few(errs)
}

// admit checks whether the namespace and the node pool of a job exist, and what
// the namespace allows. The errors are Nomad's.
func (h *Handler) admit(job *api.Job) error {
	registry := h.run.Engine.Registry()
	namespace := registry.Namespaces.Get(*job.Namespace)
	if namespace == nil {
		return fmt.Errorf("job %q is in nonexistent namespace %q", *job.ID, *job.Namespace)
	}
	if pool := job.NodePool; pool != nil && *pool != "" && registry.Pools.Get(*pool) == nil {
		return fmt.Errorf("job %q is in nonexistent node pool %q", *job.ID, *pool)
	}
	can := namespace.Capabilities
	if can == nil {
		return nil
	}
	for _, g := range job.TaskGroups {
		for _, n := range g.Networks {
			if mode := cmp.Or(n.Mode, "host"); !allows(mode, can.EnabledNetworkModes, can.DisabledNetworkModes) {
				return fmt.Errorf("used group network mode %q is not allowed in namespace %q", mode, namespace.Name)
			}
		}
		for _, t := range g.Tasks {
			if !allows(t.Driver, can.EnabledTaskDrivers, can.DisabledTaskDrivers) {
				return fmt.Errorf("used task driver %q is not allowed in namespace %q", t.Driver, namespace.Name)
			}
		}
	}
	return nil
}

// allows reports whether something is enabled, as everything is if nothing is,
// and not disabled.
func allows(what string, enabled, disabled []string) bool {
	return (len(enabled) == 0 || slices.Contains(enabled, what)) && !slices.Contains(disabled, what)
}

// few returns the first of many texts.
func few(texts []string) []string {
	if more := len(texts) - maxTexts; more > 0 {
		return append(texts[:maxTexts:maxTexts], fmt.Sprintf("and %d more", more))
	}
	return texts
}

// listed joins texts like Nomad's server does. The result is empty if there are
// none.
func listed(what string, texts []string) string {
	switch len(texts) {
	case 0:
		return ""
	case 1:
		what = "1 " + what
	default:
		what = fmt.Sprintf("%d %ss", len(texts), what)
	}
	return what + ":\n\n* " + strings.Join(texts, "\n* ")
}

// maxPriority is Nomad's default for the highest priority of a job.
const maxPriority = 100

// evalPriority checks the priority of an evaluation; 0 is that of the job.
func evalPriority(n int) (int, error) {
	if n < 0 || n > maxPriority {
		return 0, rest.Fail(http.StatusBadRequest, "Eval priority must be between 1 and 100 inclusively")
	}
	return n, nil
}
