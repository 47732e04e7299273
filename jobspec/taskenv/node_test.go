package taskenv

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestNodeLookup(t *testing.T) {
	t.Parallel()
	n := testNode()
	for operand, want := range map[string]string{
		"literal": "literal", "": "", "x-${attr.cpu.arch}": "x-${attr.cpu.arch}",
		"${node.unique.id}": n.ID, "${node.unique.name}": "n1", "${node.class}": "c1",
		"${node.pool}": "default", "${node.datacenter}": "dc1",
		"${attr.cpu.arch}": "amd64", "${attr.cpu}": "1", "${meta.rack}": "r7",
	} {
		if got, ok := n.Lookup(operand); !ok || got != want {
			t.Errorf("Lookup(%q) = %q, %v, want %q", operand, got, ok, want)
		}
	}
	for _, operand := range []string{
		"${attr.nope}", "${meta.nope}", "${node.region}", "${node.nope}", "${NOMAD_JOB_ID}",
		"${attr.cpu", "${attr.cpu.arch}x", "${ attr.cpu }", "${attr.cpu}${attr.cpu}", "${}", "${",
	} {
		if got, ok := n.Lookup(operand); ok {
			t.Errorf("Lookup(%q) = %q, want nothing", operand, got)
		}
	}
}

// Each look at meta sees its changes.
func TestMetaChanges(t *testing.T) {
	t.Parallel()
	n := testNode()
	n.ChangeMeta = func(map[string]string) map[string]string { return map[string]string{"rack": "r8", "new": "1"} }
	for operand, want := range map[string]string{"${meta.rack}": "r8", "${meta.new}": "1"} {
		if got, ok := n.Lookup(operand); !ok || got != want {
			t.Errorf("Lookup(%q) = %q, %v, want %q", operand, got, ok, want)
		}
	}
	e := NewBuilder(n, AllocInfo{}, nil, nil, nil).Build()
	if got := e.Replace("${meta.rack} ${meta.new}"); got != "r8 1" {
		t.Errorf("got %q", got)
	}
}

// TestFingerprint checks the machine of the test, of which little is known.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	n := Fingerprint()
	if again := Fingerprint(); n.ID != again.ID {
		t.Errorf("the ID changes: %s, %s", n.ID, again.ID)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(n.ID) {
		t.Errorf("not a UUID: %q", n.ID)
	}
	if n.Name == "" || n.Pool != "default" || n.Datacenter != "dc1" || n.Region != "global" {
		t.Errorf("got %+v", n)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { n.AllAttributes() })
	}
	all.Wait()
	attrs := n.AllAttributes()
	for _, name := range []string{"cpu.numcores", "cpu.frequency", "cpu.totalcompute", "memory.totalbytes", "unique.storage.bytestotal"} {
		if strings.HasPrefix(name, "cpu.frequency") && attrs["cpu.frequency.performance"] != "" {
			continue // it has performance and efficiency cores instead
		}
		if value, err := strconv.ParseUint(attrs[name], 10, 64); err != nil || value == 0 {
			t.Errorf("%s = %q", name, attrs[name])
		}
	}
	for name, want := range map[string]string{"kernel.name": runtime.GOOS, "cpu.arch": runtime.GOARCH, "unique.hostname": n.Name} {
		if attrs[name] != want {
			t.Errorf("%s = %q, want %q", name, attrs[name], want)
		}
	}
	for _, name := range []string{"kernel.version", "kernel.arch"} {
		if attrs[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if names := strings.Split(attrs["os.signals"], ","); !slices.IsSorted(names) || !slices.Contains(names, "SIGUSR1") {
		t.Errorf("os.signals = %q", attrs["os.signals"])
	}
}

func TestEmptyNode(t *testing.T) {
	t.Parallel()
	e := NewBuilder(nil, AllocInfo{}, nil, nil, nil).Build()
	if got := e.Replace("${attr.cpu.arch}${node.class}"); got != "${attr.cpu.arch}" {
		t.Errorf("got %q", got)
	}
}
