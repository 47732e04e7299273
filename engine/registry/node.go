package registry

import (
	"maps"
	"time"
)

// Node holds the changes that users have made to a node.
type Node struct {
	Ineligible bool `json:",omitempty"`
	// Meta is the dynamic metadata; nil values hide those of the configuration.
	Meta map[string]*string `json:",omitempty"`
	// Events are the latest changes of its eligibility.
	Events []NodeEvent `json:",omitempty"`

	CreateIndex, ModifyIndex uint64
}

// NodeEvent is a change of a node.
type NodeEvent struct {
	Message string
	Time    time.Time
}

// MetaOf returns the metadata of a node with that of its configuration.
func (r *Registry) MetaOf(node string, static map[string]string) map[string]string {
	all := maps.Clone(static)
	if all == nil {
		all = map[string]string{}
	}
	if n := r.Nodes.Get(node); n != nil {
		for name, value := range n.Meta {
			if value == nil {
				delete(all, name)
			} else {
				all[name] = *value
			}
		}
	}
	return all
}

// Eligible reports whether new allocations may be placed on a node.
func (r *Registry) Eligible(node string) bool {
	n := r.Nodes.Get(node)
	return n == nil || !n.Ineligible
}
