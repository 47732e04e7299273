package safedir

import (
	"errors"
	"os"
	"slices"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// An ACL is read completely, even if it is larger than the first buffer.
func TestLargeACL(t *testing.T) {
	t.Parallel()
	f, err := os.Open(leaktest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := readACL(f)
	for uid := range uint32(200) {
		list = list.with(4321+uid, Read)
	}
	if err == nil {
		err = writeACL(f, list)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system has no ACLs")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readACL(f); err != nil || !slices.Equal(got, list) || len(list.encode()) <= 1024 {
		t.Errorf("%d of %d entries, %v", len(got), len(list), err)
	}
}
