package taskenv

import (
	"slices"
	"testing"
)

func TestNodeNamesAreSorted(t *testing.T) {
	t.Parallel()
	names := NodeNames()
	if !slices.IsSorted(names) || !slices.Contains(names, "node.datacenter") || !slices.Contains(names, "attr.cpu.arch") {
		t.Errorf("names of nodes: %q", names)
	}
}
