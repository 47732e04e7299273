// Package search serves searches for objects by ID or name.
package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves searches in a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

const (
	// maxMatches limits the results of each kind, as in Nomad.
	maxMatches = 20
	// minFuzzy is the minimum length of the text in a fuzzy search, as in
	// Nomad.
	minFuzzy = 2
)

// searched is a set of objects of one kind.
type searched struct {
	kind contexts.Context
	ids  []string
	uuid bool
}

// searchable returns the IDs of all objects that a request may see.
func (h *Handler) searchable(r *rest.Request) []searched {
	var jobs, allocs, deployments []string
	all := func(*fold.Evaluation) bool { return true }
	now := h.run.Look()
	for _, j := range now.Jobs {
		if !r.InNamespace(*j.Namespace) {
			continue
		}
		jobs = append(jobs, *j.ID)
		for _, a := range now.Allocs(j) {
			allocs = append(allocs, a.ID)
		}
		for _, d := range h.run.Engine.Handle(h.run.KeyOf(j)).Deployments() {
			deployments = append(deployments, d.ID)
		}
	}
	return []searched{
		{contexts.Jobs, jobs, false},
		{contexts.Allocs, allocs, true},
		{contexts.Evals, visible(r, h.run.Evaluations(all), func(e *api.Evaluation) (string, string) { return e.Namespace, e.ID }), true},
		{contexts.Deployments, deployments, true},
		{contexts.ScalingPolicies, names(now.Policies(r), func(p *api.ScalingPolicy) string { return p.ID }), true},
		{contexts.Nodes, []string{h.run.Machine.ID}, true},
		{contexts.NodePools, names(h.run.Pools(), func(p *api.NodePool) string { return p.Name }), false},
		{contexts.Namespaces, names(h.run.Namespaces(), func(n *api.Namespace) string { return n.Name }), false},
		{contexts.Variables, visible(r, h.run.Engine.Variables().All(), func(v *api.Variable) (string, string) { return v.Namespace, v.Path }), false},
		{contexts.HostVolumes, visible(r, h.run.Engine.Registry().HostVolumes.All(), func(v *api.HostVolume) (string, string) { return v.Namespace, v.ID }), true},
		// These never exist here.
		{kind: contexts.Plugins},
		{kind: contexts.Volumes},
	}
}

// checkContext refuses a context that a Nomad server does not know.
func checkContext(asked contexts.Context) error {
	known := []contexts.Context{
		contexts.Allocs, contexts.Jobs, contexts.Nodes, contexts.NodePools, contexts.Evals, contexts.Deployments, contexts.Plugins,
		contexts.Volumes, contexts.ScalingPolicies, contexts.Variables, contexts.Namespaces, contexts.HostVolumes,
	}
	if asked == contexts.All || slices.Contains(known, asked) {
		return nil
	}
	return fmt.Errorf("context must be one of %v or 'all' for all contexts; got %q", known, asked)
}

// visible returns the IDs of the objects in the namespaces that a request includes.
func visible[T any](r *rest.Request, list []T, of func(T) (namespace, id string)) (ids []string) {
	for _, v := range list {
		if namespace, id := of(v); r.InNamespace(namespace) {
			ids = append(ids, id)
		}
	}
	return ids
}

func names[T any](list []T, name func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, name(v))
	}
	return all
}

// Search answers PUT /v1/search with the IDs that start with a prefix.
func (h *Handler) Search(r *rest.Request, order *api.SearchRequest) (any, error) {
	if err := checkContext(order.Context); err != nil {
		return nil, err
	}
	r.SetMeta(fold.FirstIndex)
	found := &api.SearchResponse{Matches: map[contexts.Context][]string{}, Truncations: map[contexts.Context]bool{}}
	for _, of := range h.searchable(r) {
		if !wants(order.Context, of.kind) {
			continue
		}
		matches := []string{}
		for _, id := range of.ids {
			if strings.HasPrefix(id, order.Prefix) || of.uuid && strings.HasPrefix(rest.PlainID(id), rest.PlainID(order.Prefix)) {
				matches = append(matches, id)
			}
		}
		found.Truncations[of.kind] = len(matches) > maxMatches
		found.Matches[of.kind] = matches[:min(len(matches), maxMatches)]
	}
	return found, nil
}

// wants reports whether a search includes a kind of objects.
func wants(asked, kind contexts.Context) bool {
	return asked == kind || asked == contexts.All
}

// Fuzzy answers PUT /v1/search/fuzzy with the names that contain a text.
func (h *Handler) Fuzzy(r *rest.Request, order *api.FuzzySearchRequest) (any, error) {
	if len(order.Text) < minFuzzy {
		return nil, fmt.Errorf("fuzzy search query must be at least %d characters, got %d", minFuzzy, len(order.Text))
	}
	if err := checkContext(order.Context); err != nil {
		return nil, err
	}
	r.SetMeta(fold.FirstIndex)
	found := &api.FuzzySearchResponse{Matches: map[contexts.Context][]api.FuzzyMatch{}, Truncations: map[contexts.Context]bool{}}
	text := strings.ToLower(order.Text)
	add := func(kind contexts.Context, name string, scope ...string) {
		matches := found.Matches[kind]
		switch {
		case !wants(order.Context, kind) || !strings.Contains(strings.ToLower(name), text):
		case len(matches) == maxMatches:
			found.Truncations[kind] = true
		default:
			found.Matches[kind] = append(matches, api.FuzzyMatch{ID: name, Scope: scope})
			found.Truncations[kind] = false
		}
	}
	now := h.run.Look()
	for _, j := range now.Jobs {
		if r.InNamespace(*j.Namespace) {
			addParts(j, add)
			for _, a := range now.Allocs(j) {
				add(contexts.Allocs, a.Name, *j.Namespace, a.ID)
			}
		}
	}
	add(contexts.Nodes, h.run.Machine.Name, h.run.Machine.ID)
	for _, v := range h.run.Engine.Variables().All() {
		if r.InNamespace(v.Namespace) {
			add(contexts.Variables, v.Path, v.Namespace, v.Path)
		}
	}
	for _, of := range h.searchable(r) {
		switch of.kind {
		case contexts.NodePools, contexts.Namespaces:
			for _, id := range of.ids {
				add(of.kind, id)
			}
		case contexts.Evals, contexts.Deployments, contexts.ScalingPolicies, contexts.HostVolumes: // Nomad has no names for them
			for _, id := range of.ids {
				if strings.HasPrefix(id, text) {
					add(of.kind, id)
				}
			}
		default: // searched by name above, or never exists
		}
	}
	return found, nil
}

// addParts adds the named parts of a job, with their scopes.
func addParts(j *api.Job, add func(kind contexts.Context, name string, scope ...string)) {
	namespace := *j.Namespace
	add(contexts.Jobs, *j.Name, namespace, *j.ID)
	for _, g := range j.TaskGroups {
		add(contexts.Groups, *g.Name, namespace, *j.ID)
		for _, s := range g.Services {
			add(contexts.Services, s.Name, namespace, *j.ID, *g.Name)
		}
		for _, t := range g.Tasks {
			add(contexts.Tasks, t.Name, namespace, *j.ID, *g.Name)
			for _, s := range t.Services {
				add(contexts.Services, s.Name, namespace, *j.ID, *g.Name, t.Name)
			}
			for key, kind := range map[string]contexts.Context{"command": contexts.Commands, "image": contexts.Images} {
				if value, ok := t.Config[key].(string); ok {
					add(kind, value, namespace, *j.ID, *g.Name, t.Name)
				}
			}
		}
	}
}
