package preflight

import "testing"

// A kind of artifact is named if it is one, because a source may begin with a secret.
func TestKindOfAnArtifact(t *testing.T) {
	t.Parallel()
	for kind := range remedies {
		if got := from(kind); got != " from "+kind && remedies[kind] != "" {
			t.Errorf("%q: %q", kind, got)
		}
	}
	if got := from("secret"); got != "" {
		t.Errorf("another kind: %q", got)
	}
}
