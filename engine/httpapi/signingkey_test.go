package httpapi_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/workload"
)

// Only a complete allocation names the key of workload identities: lists do not
// wait until a new key is created.
func TestListsNeedNoSigningKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Keys = workload.OpenKeyring(file) }, newJob("web", "service", newTask("t", "run_for", "1h")))
	id := f.running("t").ID
	for _, path := range []string{"/v1/allocations", "/v1/job/web/allocations"} {
		if list := get[[]*api.AllocationListStub](f, path); len(list) != 1 || list[0].ID != id {
			t.Errorf("%s: %+v", path, list)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a list has created the key: %v", err)
	}
	if alloc := get[map[string]any](f, "/v1/allocation/"+id); alloc["SigningKeyID"] == "" {
		t.Error("the allocation does not name the key")
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the key: %v, %v", info, err)
	}
}
