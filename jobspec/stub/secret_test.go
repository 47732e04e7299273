package stub_test

import (
	"testing"

	"taskrun/jobspec/stub"
)

// The mount of a KV engine has any name and depth, even that of the step that makes it
// one of version 2.
func TestIsKV2(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"kv/data/web": true, "kv/data/a/b": true, "team/kv/data/web": true, "data/data/web": true, "kv/data/data": true,
		"": false, "data": false, "kv": false, "kv/web": false, "kv/data": false, "data/web": false, "kv/database/web": false, "kv/x/data": false,
	} {
		if got := stub.IsKV2(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
