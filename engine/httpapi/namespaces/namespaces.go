// Package namespaces serves the namespaces of an engine. See
// https://developer.hashicorp.com/nomad/api-docs/namespaces.
package namespaces

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves namespaces.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

const (
	maxBody        = 64 << 10 // bytes
	maxName        = 128
	maxDescription = 256
)

// List answers GET /v1/namespaces.
func (h *Handler) List(r *rest.Request) (any, error) {
	list := slices.DeleteFunc(h.run.Namespaces(), func(n *api.Namespace) bool { return !strings.HasPrefix(n.Name, r.Query.Get("prefix")) })
	return rest.Page(r, list, func(n *api.Namespace) string { return n.Name })
}

// Get answers GET /v1/namespace/:name.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if n := h.find(r.ID); n != nil {
		return n, nil
	}
	return nil, rest.Fail(http.StatusNotFound, "Namespace not found")
}

func (h *Handler) find(name string) *api.Namespace {
	list := h.run.Namespaces()
	if i := slices.IndexFunc(list, func(n *api.Namespace) bool { return n.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// Put answers PUT /v1/namespace and /v1/namespace/:name.
func (h *Handler) Put(r *rest.Request) (uint64, error) {
	var n api.Namespace
	if err := r.DecodeUpTo(maxBody, &n); err != nil {
		return 0, err
	}
	if r.ID != "" && r.ID != n.Name {
		return 0, rest.Fail(http.StatusBadRequest, "Namespace name does not match request path")
	}
	if wrong := check(&n); len(wrong) > 0 {
		return 0, fmt.Errorf("Invalid namespace %q: %s", n.Name, rest.Several(wrong)) //nolint:staticcheck // Nomad's words
	}
	if n.Quota != "" {
		return 0, fmt.Errorf("namespace %q using non-existent quota %q", n.Name, n.Quota)
	}
	return h.run.Engine.Registry().Namespaces.Put(n.Name, &n)
}

// check returns the errors of a namespace. Features of Nomad Enterprise are
// refused, as Nomad does without a license.
func check(n *api.Namespace) (wrong []string) {
	if !rest.IsName(n.Name, maxName, "-") {
		wrong = append(wrong, fmt.Sprintf("invalid name %q. Must match regex ^[a-zA-Z0-9-]{1,128}$", n.Name))
	}
	if len(n.Description) > maxDescription {
		wrong = append(wrong, fmt.Sprintf("description longer than %d", maxDescription))
	}
	if n.NodePoolConfiguration != nil {
		wrong = append(wrong, "invalid node pool configuration: Node Pools Governance is unlicensed.")
	}
	if n.VaultConfiguration != nil {
		wrong = append(wrong, "invalid vault configuration: Multi-Cluster Vault is unlicensed.")
	}
	if n.ConsulConfiguration != nil {
		wrong = append(wrong, "invalid consul configuration: Multi-Cluster Consul is unlicensed.")
	}
	return wrong
}

var errNone = errors.New("namespace not found")

// Delete answers DELETE /v1/namespace/:name. A namespace that is in use stays.
func (h *Handler) Delete(r *rest.Request) (uint64, error) {
	if r.ID == api.DefaultNamespace {
		return 0, errors.New("can not delete default namespace")
	}
	if h.find(r.ID) == nil {
		return 0, errNone
	}
	if used := h.uses(r.ID); len(used) > 0 {
		return 0, errors.New(rest.Several(used))
	}
	return h.run.Engine.Registry().Namespaces.Change(r.ID, func(was *api.Namespace) (*api.Namespace, error) {
		if was == nil {
			return nil, errNone
		}
		return nil, nil
	})
}

// uses returns why a namespace cannot be deleted.
func (h *Handler) uses(name string) (used []string) {
	region := h.run.Machine.Region
	add := func(is bool, what string) {
		if is {
			used = append(used, fmt.Sprintf("namespace %q has %s in regions: [%s]", name, what, region))
		}
	}
	now := h.run.Look()
	living := slices.ContainsFunc(now.Jobs, func(j *api.Job) bool { return *j.Namespace == name && *j.Status != "dead" })
	volume := slices.ContainsFunc(h.run.Engine.Registry().HostVolumes.All(), func(v *api.HostVolume) bool { return v.Namespace == name })
	secret := slices.ContainsFunc(h.run.Engine.Variables().All(), func(v *api.Variable) bool { return v.Namespace == name })
	add(living, "non-terminal jobs")
	add(volume, "volumes associated with it")
	add(secret, "variables associated with it")
	return used
}
