package httpapi

import (
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"
)

// maxMatches is how many IDs a search returns of each kind, as in Nomad.
const maxMatches = 20

// agentSelf answers GET /v1/agent/self. Hints are switched off: they would
// name the address of a web interface that does not exist. Among the stats are
// the directories of the runs.
func (s *Server) agentSelf(http.ResponseWriter, *request) (any, error) {
	n := s.cfg.Node
	return &api.AgentSelf{
		Config: map[string]any{
			"Region": n.Region, "Datacenter": n.Datacenter, "Version": s.cfg.Version,
			"UI": map[string]any{"Enabled": false, "ShowCLIHints": false},
		},
		Member: s.member(),
		Stats: map[string]map[string]string{
			"client": {"node_id": n.ID},
			"taskrun": {
				"version": s.cfg.Version, "data_dir": s.cfg.DataDir, "pid": strconv.Itoa(os.Getpid()),
			},
			"runs": s.engine.RunDirs(),
		},
	}, nil
}

// listRegions answers GET /v1/regions.
func (s *Server) listRegions(http.ResponseWriter, *request) (any, error) {
	return []string{s.cfg.Node.Region}, nil
}

// search answers PUT /v1/search: the IDs of jobs, allocations and nodes that
// begin with a prefix.
func (s *Server) search(w http.ResponseWriter, r *request) (any, error) {
	var order api.SearchRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	var jobs, allocs []string
	run := s.look()
	for _, j := range run.jobs {
		if r.inNamespace(*j.Namespace) {
			jobs = append(jobs, *j.ID)
			for _, a := range run.allocs[*j.ID] {
				allocs = append(allocs, a.ID)
			}
		}
	}
	found := &api.SearchResponse{Matches: map[contexts.Context][]string{}, Truncations: map[contexts.Context]bool{}}
	for _, kind := range []struct {
		name  contexts.Context
		ids   []string
		plain func(string) string
	}{
		{contexts.Jobs, jobs, func(id string) string { return id }},
		{contexts.Allocs, allocs, plainID},
		{contexts.Nodes, []string{s.cfg.Node.ID}, plainID},
	} {
		if order.Context != kind.name && order.Context != contexts.All && order.Context != "" {
			continue
		}
		matches := []string{}
		for _, id := range kind.ids {
			if strings.HasPrefix(kind.plain(id), kind.plain(order.Prefix)) {
				matches = append(matches, id)
			}
		}
		found.Truncations[kind.name] = len(matches) > maxMatches
		found.Matches[kind.name] = matches[:min(len(matches), maxMatches)]
	}
	return found, nil
}
