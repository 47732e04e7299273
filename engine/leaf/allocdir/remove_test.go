package allocdir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

func TestRemoveSecrets(t *testing.T) {
	t.Parallel()
	outside := leaktest.TempDir(t)
	for name, prepare := range map[string]func(web Task) error{
		"as built": func(Task) error { return nil },
		"with files": func(web Task) error {
			return errors.Join(
				os.MkdirAll(filepath.Join(web.Secrets, "a", "b"), 0o700),
				os.WriteFile(filepath.Join(web.Secrets, "a", "b", "token"), []byte("x"), 0o400))
		},
		"closed by the task": func(web Task) error {
			dir := filepath.Join(web.Secrets, "a")
			return errors.Join(
				os.Mkdir(dir, 0o700),
				os.WriteFile(filepath.Join(dir, "token"), []byte("x"), 0o400),
				os.Chmod(dir, 0), os.Chmod(web.Secrets, 0o100), os.Chmod(web.Dir, 0o500))
		},
		"replaced by a link": func(web Task) error {
			return errors.Join(os.Remove(web.Secrets), os.Symlink(outside, web.Secrets))
		},
		"replaced by a file": func(web Task) error {
			return errors.Join(os.Remove(web.Private), os.WriteFile(web.Private, nil, 0o600))
		},
		"gone": func(web Task) error { return os.Remove(web.Secrets) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := os.WriteFile(filepath.Join(outside, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			dir := newAlloc(t, "web", "db")
			web := TaskOf(dir, "web")
			if err := prepare(web); err != nil {
				t.Fatal(err)
			}
			if err := at(t, dir).RemoveSecrets(); err != nil {
				t.Fatal(err)
			}
			for _, task := range []string{"web", "db"} {
				entries, err := os.ReadDir(filepath.Join(dir, task))
				if err != nil {
					t.Fatal(err)
				}
				var left []string
				for _, e := range entries {
					left = append(left, e.Name())
				}
				if !slices.Equal(left, []string{"local", "tmp"}) {
					t.Errorf("%s: left %q", task, left)
				}
			}
			if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
				t.Errorf("removed outside: %v", err)
			}
		})
	}
}

func TestRemoveSecretsOfNothing(t *testing.T) {
	t.Parallel()
	if err := at(t, filepath.Join(leaktest.TempDir(t), "none")).RemoveSecrets(); err != nil {
		t.Error(err)
	}
}
