package registry

// Node is what users have changed of a node.
type Node struct {
	Ineligible bool `json:",omitempty"`
	// Meta is the dynamic metadata; nil values hide those of the configuration.
	Meta map[string]*string `json:",omitempty"`

	CreateIndex, ModifyIndex uint64
}
