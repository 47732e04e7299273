// Package network is the allocation hook that creates the network that a group
// requests, if its tasks have a driver that supports it. See
// https://developer.hashicorp.com/nomad/docs/job-specification/network#network-modes.
package network

import (
	"context"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/hooks"
)

type hook struct {
	alloc hooks.Alloc
	made  *drivers.NetworkIsolation
}

// New returns the hook of an allocation, or nil if its tasks use the network of
// this machine.
func New(a hooks.Alloc) hooks.AllocHook {
	if a.Network == nil || !Wanted(a.Group) {
		return nil
	}
	return &hook{alloc: a}
}

// Wanted reports whether a group requests a network of its own.
func Wanted(g *api.TaskGroup) bool {
	if len(g.Networks) == 0 {
		return false
	}
	mode := g.Networks[0].Mode
	return mode == "bridge" || mode == "none" || strings.HasPrefix(mode, "cni/")
}

func (h *hook) Name() string { return "network" }

// Prerun creates the network, or finds the one that an earlier engine has
// created.
func (h *hook) Prerun(ctx context.Context) error {
	spec := h.alloc.Group.Networks[0]
	env := h.alloc.Env()
	req := &drivers.NetworkRequest{
		AllocID: h.alloc.Alloc.ID, AllocDir: h.alloc.AllocDir, Mode: spec.Mode, Hostname: env.Replace(spec.Hostname),
		Ports: h.alloc.Ports,
	}
	if name, ok := strings.CutPrefix(spec.Mode, "cni/"); ok {
		req.Mode, req.Name = "bridge", name // there are no CNI plugins
	}
	if dns := spec.DNS; dns != nil {
		req.DNS = &drivers.DNS{Servers: dns.Servers, Searches: dns.Searches, Options: dns.Options}
	}
	made, err := h.alloc.Network.CreateNetwork(ctx, req)
	if err != nil {
		return err
	}
	h.made = made
	h.alloc.SetNetwork(made)
	return nil
}

// Postrun removes the network.
func (h *hook) Postrun(ctx context.Context) error {
	if h.made == nil {
		return nil
	}
	return h.alloc.Network.DestroyNetwork(ctx, h.made)
}
