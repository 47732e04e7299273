package event

import "testing"

func TestJobKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, id, key string }{
		{"default", "web", "web"},
		{"prod", "web", "web prod"},
		{"prod", "web/dispatch-1-2", "web/dispatch-1-2 prod"},
	} {
		if got := JobKey(c.namespace, c.id); got != c.key {
			t.Errorf("key of %q in %q: %q, want %q", c.id, c.namespace, got, c.key)
		}
		if namespace, id := SplitJobKey(c.key); namespace != c.namespace || id != c.id {
			t.Errorf("%q is %q in %q", c.key, id, namespace)
		}
	}
	if got := JobKey("", "web"); got != "web" {
		t.Errorf("without a namespace: %q", got)
	}
}
