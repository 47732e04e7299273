package httpapi

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"
)

const (
	// maxMatches is how many IDs a search returns of each kind, as in Nomad.
	maxMatches = 20
	// minFuzzy is how long the text of a fuzzy search must be, as in Nomad.
	minFuzzy = 2
)

// nothingOf are the kinds of what there is never anything of here.
var nothingOf = []contexts.Context{
	contexts.Plugins, contexts.Volumes, contexts.HostVolumes,
	contexts.Quotas, contexts.Recommendations,
}

// searched is what may be found of a kind.
type searched struct {
	kind contexts.Context
	ids  []string
	uuid bool
}

// searchable returns the IDs of what a request may see.
func (s *Server) searchable(r *request) []searched {
	var jobs, allocs, evaluations, deployments, variables, pools, namespaces []string
	run := s.look()
	for _, j := range run.jobs {
		if !r.inNamespace(*j.Namespace) {
			continue
		}
		jobs = append(jobs, *j.ID)
		for _, a := range run.allocs[*j.ID] {
			allocs = append(allocs, a.ID)
		}
		for _, d := range s.engine.Deployments(*j.ID) {
			deployments = append(deployments, d.ID)
		}
	}
	for _, e := range s.evaluations(r, func(evaluationRecord) bool { return true }) {
		evaluations = append(evaluations, e.ID)
	}
	for _, v := range s.engine.Variables().All() {
		if r.inNamespace(v.Namespace) {
			variables = append(variables, v.Path)
		}
	}
	for _, p := range s.pools() {
		pools = append(pools, p.Name)
	}
	for _, n := range s.namespaces() {
		namespaces = append(namespaces, n.Name)
	}
	var policies []string
	for _, p := range s.scalingPolicies(r) {
		policies = append(policies, p.ID)
	}
	all := []searched{
		{contexts.Jobs, jobs, false},
		{contexts.Allocs, allocs, true},
		{contexts.Evals, evaluations, true},
		{contexts.Deployments, deployments, true},
		{contexts.ScalingPolicies, policies, true},
		{contexts.Nodes, []string{s.cfg.Node.ID}, true},
		{contexts.NodePools, pools, false},
		{contexts.Namespaces, namespaces, false},
		{contexts.Variables, variables, false},
	}
	for _, kind := range nothingOf {
		all = append(all, searched{kind: kind})
	}
	return all
}

// search answers PUT /v1/search: the IDs that begin with a prefix.
func (s *Server) search(w http.ResponseWriter, r *request) (any, error) {
	var order api.SearchRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	s.setMeta(w, firstIndex)
	found := &api.SearchResponse{Matches: map[contexts.Context][]string{}, Truncations: map[contexts.Context]bool{}}
	for _, of := range s.searchable(r) {
		if !wants(order.Context, of.kind) {
			continue
		}
		matches := []string{}
		for _, id := range of.ids {
			if strings.HasPrefix(id, order.Prefix) || of.uuid && strings.HasPrefix(plainID(id), plainID(order.Prefix)) {
				matches = append(matches, id)
			}
		}
		found.Truncations[of.kind] = len(matches) > maxMatches
		found.Matches[of.kind] = matches[:min(len(matches), maxMatches)]
	}
	if len(found.Matches) == 0 {
		return nil, fail(http.StatusBadRequest, "invalid context: %q", order.Context)
	}
	return found, nil
}

// wants reports whether a search is for things of a kind.
func wants(asked, kind contexts.Context) bool {
	return asked == kind || asked == contexts.All || asked == ""
}

// fuzzySearch answers PUT /v1/search/fuzzy: the names in which a text is.
func (s *Server) fuzzySearch(w http.ResponseWriter, r *request) (any, error) {
	var order api.FuzzySearchRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if len(order.Text) < minFuzzy {
		return nil, fail(http.StatusBadRequest, "fuzzy search query must be at least %d characters, got %d", minFuzzy, len(order.Text))
	}
	s.setMeta(w, firstIndex)
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
	run := s.look()
	for _, j := range run.jobs {
		if r.inNamespace(*j.Namespace) {
			addParts(j, add)
			for _, a := range run.allocs[*j.ID] {
				add(contexts.Allocs, a.Name, *j.Namespace, a.ID)
			}
		}
	}
	add(contexts.Nodes, s.cfg.Node.Name, s.cfg.Node.ID)
	for _, of := range s.searchable(r) {
		switch of.kind {
		case contexts.NodePools, contexts.Namespaces, contexts.Variables:
			for _, id := range of.ids {
				add(of.kind, id)
			}
		case contexts.Evals, contexts.Deployments, contexts.ScalingPolicies: // which have no names
			for _, id := range of.ids {
				if strings.HasPrefix(id, text) {
					add(of.kind, id)
				}
			}
		default: // is added by name above, or there is nothing of it
		}
	}
	return found, nil
}

// addParts adds what has a name in a job, within what it is.
func addParts(j *api.Job, add func(kind contexts.Context, name string, scope ...string)) {
	namespace := *j.Namespace
	add(contexts.Jobs, *j.Name, namespace, *j.ID)
	for _, g := range j.TaskGroups {
		add(contexts.Groups, *g.Name, namespace, *j.ID)
		for _, service := range g.Services {
			add(contexts.Services, service.Name, namespace, *j.ID, *g.Name)
		}
		for _, t := range g.Tasks {
			add(contexts.Tasks, t.Name, namespace, *j.ID, *g.Name)
			for _, service := range t.Services {
				add(contexts.Services, service.Name, namespace, *j.ID, *g.Name, t.Name)
			}
			for key, kind := range map[string]contexts.Context{"command": contexts.Commands, "image": contexts.Images} {
				if value, ok := t.Config[key].(string); ok {
					add(kind, value, namespace, *j.ID, *g.Name, t.Name)
				}
			}
		}
	}
}
