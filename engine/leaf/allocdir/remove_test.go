package allocdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRemoveSecrets(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
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
			if err := At(dir).RemoveSecrets(); err != nil {
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
	if err := At(filepath.Join(t.TempDir(), "none")).RemoveSecrets(); err != nil {
		t.Error(err)
	}
}

const mountinfo = `36 35 98:0 / / rw,noatime master:1 - ext4 /dev/root rw
37 36 0:5 / /proc rw - proc proc rw
60 36 0:40 / /data/jobs/web/runs/1/alloc/9f8a/web/local/mnt rw shared:9 - fuse.sshfs host: rw
61 36 0:41 / /data/jobs/a\040b/runs/1/x rw - tmpfs tmpfs rw
62 36 0:42 / /data/jobs/web2 rw - tmpfs tmpfs rw
short line
`

func TestFindMounts(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string][]string{
		"/data/jobs/web":  {"runs/1/alloc/9f8a/web/local/mnt"},
		"/data/jobs/a b":  {"runs/1/x"},
		"/data/jobs/web2": nil, // at the directory, not in it
		"/data/jobs/none": nil,
	} {
		if got := findMounts(mountinfo, dir); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	mounts := []string{"a", "a/x", "ab/y", "a/y/z", "b/a/x"}
	for dir, want := range map[string][]string{"a": {"x", "y/z"}, "a/y": {"z"}, "c": nil} {
		if got := mountsBelow(mounts, dir); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestUnescapeMount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: ``, `/a`: `/a`, `/a\040b`: `/a b`, `/a\134\011`: "/a\\\t", `/a\9xyz`: `/a\9xyz`, `/a\04`: `/a\04`,
	} {
		if got := unescapeMount.Replace(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMountsAreNotRemoved(t *testing.T) {
	t.Parallel()
	dir := newAlloc(t, "web")
	r, err := newRemover(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.mounts = []string{"web/secrets/mnt"}
	for _, name := range []string{"web", "web/secrets", "web/secrets/mnt"} {
		if err := r.remove(name); err == nil || !strings.Contains(err.Error(), "is mounted on") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.remove("web/secret"); err != nil {
		t.Error(err)
	}
	if err := r.remove("web/private"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "web/private")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
