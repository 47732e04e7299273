package node

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/registry"
)

// maxMeta limits the body of a change of the metadata, in bytes.
const maxMeta = 64 << 10

// maxEvents limits the kept events of a node, as in Nomad.
const maxEvents = 10

// Meta answers GET /v1/client/metadata.
func (h *Handler) Meta(r *rest.Request) (any, error) {
	if err := h.isThis(r.Query.Get("node_id")); err != nil {
		return nil, err
	}
	return h.meta(), nil
}

// isThis returns an error unless an ID is empty, or that of the node.
func (h *Handler) isThis(id string) error {
	if id != "" && id != h.run.Machine.ID {
		return rest.Fail(http.StatusNotFound, "Unknown node %s", id)
	}
	return nil
}

func (h *Handler) meta() *api.NodeMetaResponse {
	id, static := h.run.Machine.ID, h.run.Machine.Meta
	meta := &api.NodeMetaResponse{
		Meta: h.run.Engine.Registry().MetaOf(id, static), Static: maps.Clone(nonNil(static)), Dynamic: map[string]*string{},
	}
	if n := h.run.Engine.Registry().Nodes.Get(id); n != nil {
		maps.Copy(meta.Dynamic, n.Meta)
	}
	return meta
}

// ApplyMeta answers POST /v1/client/metadata. A null hides a name of the
// configuration, and deletes any other one.
func (h *Handler) ApplyMeta(r *rest.Request) (any, error) {
	var order api.NodeMetaApplyRequest
	if err := r.DecodeUpTo(maxMeta, &order); err != nil {
		return nil, err
	}
	if err := checkMeta(order.Meta); err != nil {
		return nil, err
	}
	for _, id := range []string{order.NodeID, r.Query.Get("node_id")} {
		if err := h.isThis(id); err != nil {
			return nil, err
		}
	}
	err := h.change(func(n *registry.Node) {
		n.Meta = maps.Clone(n.Meta)
		if n.Meta == nil {
			n.Meta = map[string]*string{}
		}
		for name, value := range order.Meta {
			if _, static := h.run.Machine.Meta[name]; value == nil && !static {
				delete(n.Meta, name)
			} else {
				n.Meta[name] = value
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return h.meta(), nil
}

// change changes what is kept of the node.
func (h *Handler) change(do func(*registry.Node)) error {
	_, err := h.run.Engine.Registry().Nodes.Change(h.run.Machine.ID, func(was *registry.Node) (*registry.Node, error) {
		now := &registry.Node{}
		if was != nil {
			*now = *was
		}
		do(now)
		if size := len(now.Meta); size > maxNames {
			return nil, rest.Fail(http.StatusBadRequest, "the node would have %d names of metadata; %d are the most", size, maxNames)
		}
		return now, nil
	})
	return err
}

// maxNames limits the names of dynamic metadata.
const maxNames = 1000

// checkMeta returns what is wrong with changes of the metadata.
func checkMeta(meta map[string]*string) error {
	if len(meta) == 0 {
		return rest.Fail(http.StatusBadRequest, "missing required Meta object")
	}
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		if name == "" {
			return rest.Fail(http.StatusBadRequest, "metadata keys must not be empty")
		}
		for part := range strings.SplitSeq(name, ".") {
			if !isIdentifier(part) {
				return rest.Fail(http.StatusBadRequest, "%q is invalid; metadata keys must be valid dotted hcl identifiers", name)
			}
		}
	}
	return nil
}

// isIdentifier reports whether a text is an identifier of HCL.
func isIdentifier(text string) bool {
	for i, c := range text {
		if !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && c != '-' && c != '_') {
			return false
		}
	}
	return text != ""
}

// SetEligibility answers PUT /v1/node/:id/eligibility.
func (h *Handler) SetEligibility(r *rest.Request) error {
	var order api.NodeUpdateEligibilityRequest
	if err := r.Decode(&order); err != nil {
		return err
	}
	switch {
	case order.Eligibility != api.NodeSchedulingEligible && order.Eligibility != api.NodeSchedulingIneligible:
		return fmt.Errorf("invalid scheduling eligibility %q", order.Eligibility)
	case r.ID != h.run.Machine.ID || order.NodeID != "" && order.NodeID != r.ID:
		return fmt.Errorf("node not found")
	}
	ineligible, index := order.Eligibility == api.NodeSchedulingIneligible, uint64(0)
	kept := h.run.Engine.Registry()
	if kept.Eligible(r.ID) == ineligible {
		err := h.change(func(n *registry.Node) {
			n.Ineligible = ineligible
			n.Events = append(slices.Clip(n.Events), registry.NodeEvent{Message: "Node marked as " + order.Eligibility + " for scheduling", Time: time.Now()})
			n.Events = n.Events[max(0, len(n.Events)-maxEvents):]
		})
		if err != nil {
			return err
		}
		index = kept.Nodes.Get(r.ID).ModifyIndex
	}
	r.SetIndex(index)
	return r.JSON(http.StatusOK, struct {
		Index, EvalCreateIndex, NodeModifyIndex uint64
		EvalIDs                                 []string
	}{Index: index, NodeModifyIndex: index})
}

// OfPool answers GET /v1/node/pool/:name/nodes.
func (h *Handler) OfPool(r *rest.Request) (any, error) {
	if r.Query.Get("prefix") != "" {
		return nil, rest.Fail(http.StatusBadRequest, "prefix argument not allowed")
	}
	if r.ID != h.run.Machine.Pool && r.ID != api.NodePoolAll {
		return []*api.NodeListStub{}, nil
	}
	return h.List(r)
}
