package enginerun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The record of a run has a name wherever the next command can look for it, also
// where no socket fits.
func TestRecordDir(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	file := filepath.Join(own, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(own, strings.Repeat("a", 120))
	for _, c := range []struct {
		sockets  string
		rehearse bool
		want     string
	}{{long, false, long}, {long, true, ""}, {"", false, ""}, {file, false, ""}} {
		o := Options{Rehearse: c.rehearse}
		if got := o.recordDir(c.sockets); got != c.want {
			t.Errorf("%q, rehearse %v: %q, want %q", c.sockets, c.rehearse, got, c.want)
		}
	}
	if info, err := os.Stat(long); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is not there, or not private: %v, %v", info, err)
	}
}
