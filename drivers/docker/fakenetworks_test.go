package docker

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/moby/moby/api/types/network"
)

// fakeNetworks adds the networks of an engine. Containers with the name of one
// as their mode use it.
func (e *fakeEngine) fakeNetworks() {
	e.networks = map[string]network.Inspect{}
	e.mux.HandleFunc("GET /networks", func(w http.ResponseWriter, r *http.Request) {
		var filters struct{ Label map[string]bool }
		_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
		list := []network.Inspect{}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, n := range e.networks {
			for label := range filters.Label {
				if name, value, _ := strings.Cut(label, "="); n.Labels[name] == value {
					list = append(list, n)
				}
			}
		}
		reply(w, 200, list)
	})
	e.mux.HandleFunc("POST /networks/create", func(w http.ResponseWriter, r *http.Request) {
		var n network.Inspect
		_ = json.NewDecoder(r.Body).Decode(&n)
		n.ID = n.Name
		e.set(func() { e.networks[n.Name] = n })
		reply(w, 201, map[string]string{"Id": n.ID})
	})
	e.mux.HandleFunc("GET /networks/{id}", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		n, ok := e.networks[r.PathValue("id")]
		if !ok {
			fail(w, 404, "no such network")
			return
		}
		n.Containers = map[string]network.EndpointResource{}
		for id, c := range e.containers {
			if string(c.HostConfig.NetworkMode) == n.Name {
				n.Containers[id] = network.EndpointResource{}
			}
		}
		reply(w, 200, n)
	})
	e.mux.HandleFunc("DELETE /networks/{id}", func(w http.ResponseWriter, r *http.Request) {
		e.set(func() { delete(e.networks, r.PathValue("id")) })
		w.WriteHeader(204)
	})
}

func (e *fakeEngine) networkNames() (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.networks {
		names = append(names, name)
	}
	return names
}
