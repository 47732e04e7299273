package stub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/jobspec/stub"
)

func TestSecretsReadableByOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		mode    os.FileMode
		exposed bool
	}{
		{`vault_secret "kv/data/a" { key = "x" }`, 0o644, true},
		{`vault_secret "kv/data/a" { key = "x" }`, 0o640, true},
		{`vault_secret "kv/data/a" { key = "x" }`, 0o600, false},
		{`vault_secret "kv/data/a" { key = file("key") }`, 0o644, false},
		{`nomad_variable "a" { key = "x" }`, 0o604, true},
		{`consul_key "a" { value = "x" }`, 0o644, false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "taskrun.hcl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		set, diagnostics := stub.Read(path)
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		p, exposed := set.Exposed()
		if exposed != c.exposed || exposed && !strings.Contains(p.Remedy, "chmod 600 "+path) {
			t.Errorf("%s with mode %o: %v %v", c.text, c.mode, exposed, p)
		}
	}
}
