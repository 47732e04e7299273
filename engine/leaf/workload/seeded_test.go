package workload_test

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/workload"
)

// Equal seeds give equal tokens, which differ from each other, and which only
// their own seed verifies.
func TestTokensOfASeed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	tokens := func(seed uint64) (k *workload.Keyring, all [3]string) {
		k = workload.NewSeeded(chance.Seeded(seed))
		all[0] = sign(t, k, &api.WorkloadIdentity{}, now)
		all[1] = sign(t, k, &api.WorkloadIdentity{}, now)
		all[2] = sign(t, k, &api.WorkloadIdentity{Name: "other"}, now)
		return k, all
	}
	keys, one := tokens(1)
	again, two := tokens(1)
	if one != two || keys.ID() != again.ID() {
		t.Errorf("one seed gave two keys or tokens:\n%s\n%s", one, two)
	}
	if one[0] == one[1] || one[1] == one[2] {
		t.Errorf("two tokens are equal: %s", one)
	}
	other, _ := tokens(2)
	for _, token := range one {
		if _, err := again.Verify(token, now); err != nil {
			t.Error(err)
		}
		if _, err := other.Verify(token, now); err == nil {
			t.Error("another seed verifies a token")
		}
	}
}
