package artifact

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// TestMoveToAnotherFileSystem delivers to a place where rename fails.
func TestMoveToAnotherFileSystem(t *testing.T) {
	t.Parallel()
	elsewhere, err := os.MkdirTemp("/dev/shm", "taskrun-test-") //nolint:usetesting // elsewhere
	if err != nil {
		t.Skipf("there is no second file system to write to: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	stage := leaktest.TempDir(t)
	if device(t, stage) == device(t, elsewhere) {
		t.Skip("/dev/shm is on the same file system as the directory for temporary files")
	}
	for name, mode := range map[string]os.FileMode{"got/dir/sub": 0o755, "got/readonly": 0o755, "got/there": 0o755} {
		must(t, os.MkdirAll(filepath.Join(stage, name), mode))
	}
	for name, mode := range map[string]os.FileMode{"got/run": 0o750, "got/dir/sub/file": 0o600, "got/there/new": 0o600} {
		must(t, os.WriteFile(filepath.Join(stage, name), []byte(name), mode))
	}
	must(t, os.Symlink("sub/file", filepath.Join(stage, "got/dir/link")))
	must(t, os.Chmod(filepath.Join(stage, "got/readonly"), 0o555))
	must(t, os.Mkdir(filepath.Join(elsewhere, "there"), 0o755))
	must(t, os.WriteFile(filepath.Join(elsewhere, "there/old"), nil, 0o600))

	from, err := openDir(stage)
	must(t, err)
	defer func() { _ = from.Close() }()
	to, err := openDir(elsewhere)
	must(t, err)
	defer func() { _ = to.Close() }()
	must(t, mover{stage: from}.merge(from, "got", to))

	for name, mode := range map[string]os.FileMode{
		"run": 0o750, "dir/sub/file": 0o600, "there/new": 0o600, "there/old": 0o600,
		"readonly": os.ModeDir | 0o555, "dir/link": os.ModeSymlink | 0o777,
	} {
		info, err := os.Lstat(filepath.Join(elsewhere, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want mode %v", name, info, err, mode)
		}
	}
	if text, err := os.ReadFile(filepath.Join(elsewhere, "dir/link")); string(text) != "got/dir/sub/file" {
		t.Errorf("through the link: %q, %v", text, err)
	}
}

// TestEnter creates missing directories of a path, and reports obstacles.
func TestEnter(t *testing.T) {
	t.Parallel()
	root, stage := leaktest.TempDir(t), leaktest.TempDir(t)
	must(t, os.MkdirAll(filepath.Join(root, "dir/sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(root, "dir/file"), nil, 0o600))
	must(t, os.Symlink("dir", filepath.Join(root, "link")))
	from, err := openDir(stage)
	must(t, err)
	defer func() { _ = from.Close() }()
	for path, want := range map[string]string{
		"dir/./sub":    "",
		"dir/new/more": "",
		"file":         filepath.Join(root, "file") + " is a file",
		"dir/file/sub": filepath.Join(root, "dir/file") + " is a file",
		"link/sub":     filepath.Join(root, "link") + " is a link, and a destination must not lead through one",
	} {
		d, err := openDir(root)
		must(t, err)
		got, err := mover{stage: from}.enterAll(d, path)
		if want == "" {
			if must(t, err); got.Name() != filepath.Join(root, path) {
				t.Errorf("%s: it is %s", path, got.Name())
			}
			must(t, got.Close())
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func device(t *testing.T, path string) any {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Sys().(*syscall.Stat_t).Dev
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
