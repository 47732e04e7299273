package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// openTempDir returns a directory that others can reach, unlike t.TempDir.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := leaktest.TempDir(t)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// remedy returns the remedy of an untrusted path.
func remedy(err error) string {
	var untrusted *UntrustedError
	if !errors.As(err, &untrusted) {
		return ""
	}
	return untrusted.Remedy
}

func TestCheckTrusted(t *testing.T) {
	t.Parallel()
	base := openTempDir(t)
	in := func(name string) string { return filepath.Join(base, name) }
	for name, mode := range map[string]os.FileMode{
		"private": 0o700, "plain": 0o755, "open": 0o777, "open/in": 0o700, "sticky": 0o777 | os.ModeSticky, "sticky/in": 0o755, "group": 0o775,
	} {
		if err := errors.Join(os.MkdirAll(in(name), 0o700), os.Chmod(in(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Symlink("open/in", in("link")), os.Symlink(in("plain"), in("abs")), os.Symlink("loop", in("loop")),
		os.Symlink("plain/../private", in("dotted")), os.Symlink("../open/in", in("private/out")), os.Symlink(in("plain"), in("open/link")),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"private": "", "plain/not/there": "", "sticky": "", "sticky/in/x": "", "abs/x": "", "dotted": "", "group": "", "private/open": "", "private/open/in/x": "",
		"open": "can be changed by every user", "open/in": "by every user", "open/none": "by every user", "link/x": "chmod o-w " + in("open"),
		"open/link": "by every user", "private/out/x": "by every user", "loop": "too many links",
	} {
		err := CheckTrusted(in(name))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error()+remedy(err), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := CheckTrusted(in(strings.Repeat("x", 300))); err == nil {
		t.Error("a name that is too long is trusted")
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, path := range []string{in("sticky/his"), in("his")} {
		if err := errors.Join(os.Mkdir(path, 0o755), os.Chown(path, 4321, 4321)); err != nil {
			t.Fatal(err)
		}
		if err := CheckTrusted(filepath.Join(path, "x")); err == nil || !strings.Contains(err.Error(), "uid 4321") || remedy(err) != "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := errors.Join(os.Symlink(in("plain"), in("sticky/link")), os.Lchown(in("sticky/link"), 4321, 4321)); err != nil {
		t.Fatal(err)
	}
	if err := CheckTrusted(in("sticky/link")); err == nil {
		t.Error("the link of another user was followed")
	}
	if err := errors.Join(os.Chown(in("group"), 0, 4321), os.Chown(in("plain"), 0, 4321)); err != nil {
		t.Fatal(err)
	}
	if err := CheckTrusted(in("plain")); err != nil {
		t.Errorf("a group that cannot write: %v", err)
	}
	if err := CheckTrusted(in("group")); remedy(err) != "chmod g-w "+in("group") {
		t.Errorf("a group can write: %v", err)
	}
}

// TestReplacedDirectoryIsNotClosed replaces a directory, between checking it
// and its ACL, by something that looks closed.
func TestReplacedDirectoryIsNotClosed(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "open"), 0o700), os.Mkdir(filepath.Join(dir, "closed"), 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		os.Chmod(filepath.Join(dir, "open"), 0o710), os.Chmod(filepath.Join(dir, "closed"), 0o700), os.Symlink("closed", filepath.Join(dir, "link")),
	); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"closed": true, "open": false, "link": false, "file": false, "none": false} {
		if got := (&trust{}).isClosed(filepath.Join(dir, name), info); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
