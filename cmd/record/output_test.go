package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

func TestLastOutput(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	logs := allocdir.SharedOf(filepath.Join(dir, "alloc", "1")).Logs
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"t.stdout.0": strings.Repeat("a long line\n", 1000) + "before the last\nlast of stdout", "t.stderr.0": "\x1b[31mno such table\x1b[0m\n",
	} {
		if err := os.WriteFile(filepath.Join(logs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := LastOutput(dir)("1", "t")
	if want := []string{"before the last", "last of stdout", "no such table"}; len(got) != 10 || !cmp.Equal(want, got[7:]) {
		t.Errorf("%q", got)
	}
	if got := LastOutput(dir)("2", "t"); len(got) != 0 {
		t.Errorf("of an allocation without output: %q", got)
	}
}
