package files

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/leaktest"
)

// allocated creates an allocation directory with a file of a task and one of
// its secrets with the same name.
func allocated(t *testing.T) (dir string) {
	t.Helper()
	dir = leaktest.TempDir(t)
	for name, text := range map[string]string{"t/local/d/token": "plain", "t/secrets/token": "s3cr3t", "alloc/data/x": "shared"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// swap replaces a directory by a link, as a task can at any time.
func swap(t *testing.T, name, target string) {
	t.Helper()
	if err := errors.Join(os.Rename(name, name+"-away"), os.Symlink(target, name)); err != nil {
		t.Fatal(err)
	}
}

// If a directory is replaced by a link to the secrets after a file in it was
// found, the link is not followed.
func TestDirectoryReplacedByALinkAfterTheLookup(t *testing.T) {
	t.Parallel()
	for _, swapped := range []string{"t/local/d", "t/local"} {
		dir := allocated(t)
		p, err := walkTo(dir, "t/local/d/token")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		target := map[string]string{"t/local/d": "../secrets", "t/local": "secrets"}[swapped]
		swap(t, filepath.Join(dir, swapped), target)
		f, _, err := p.open()
		if err != nil {
			t.Fatalf("%s: %v", swapped, err)
		}
		defer f.Close()
		if text, err := io.ReadAll(f); err != nil || string(text) != "plain" {
			t.Errorf("%s: read %q, %v", swapped, text, err)
		}
	}
}

// The same applies during the lookup, between checking and opening a name; and
// nothing blocks on a pipe there.
func TestDirectoryReplacedByALinkDuringTheLookup(t *testing.T) {
	t.Parallel()
	dir := allocated(t)
	task, err := os.OpenRoot(filepath.Join(dir, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	seen, err := task.Lstat("local")
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(dir, "t/local")
	swap(t, local, "secrets")
	if below, err := openDir(task, "local", seen); err == nil || rest.StatusOf(fileError("stat", "t/local", err)) != http.StatusConflict {
		t.Errorf("a link: %v, %v", below, err)
	}
	if err := errors.Join(os.Remove(local), syscall.Mkfifo(local, 0o600)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := openDir(task, "local", seen)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a pipe was opened as a directory")
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the other end of a pipe")
	}
}

// If a file is replaced by a link to a secret after the lookup, the secret is
// not read.
func TestFileReplacedByALinkAfterTheLookup(t *testing.T) {
	t.Parallel()
	dir := allocated(t)
	p, err := walkTo(dir, "t/local/d/token")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	name := filepath.Join(dir, "t/local/d/token")
	if err := os.WriteFile(name+"2", []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	swap(t, name, "token2")
	if _, _, err := p.open(); rest.StatusOf(err) != http.StatusConflict {
		t.Errorf("error %v", err)
	}
}

// Links inside are followed in any spelling, and resolved correctly.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := allocated(t)
	for name, target := range map[string]string{
		"t/local/abs": filepath.Join(dir, "alloc"), "t/local/rel": "../../alloc//data/", "t/local/up": "..", "t/local/chain": "rel/x",
		"t/local/deep": "d/../../local/./d/token", "t/local/top": "../..", "t/local/loop": "loop", "t/local/out": "../../..", "t/local/host": "/etc",
		"t/local/many": strings.Repeat("d/../", 500) + "d",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		".": ".", "t": "t", "t/local/abs": "alloc", "t/local/abs/data/x": "alloc/data/x", "t/local/rel/x": "alloc/data/x", "t/local/chain": "alloc/data/x",
		"t/local/up": "t", "t/local/up/local/d": "t/local/d", "t/local/deep": "t/local/d/token", "t/local/top": ".",
		"t/local/top/alloc/data": "alloc/data", "t/local/up/secrets/token": "t/secrets/token",
	} {
		p, err := walkTo(dir, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.name != want || p.info.Mode()&fs.ModeSymlink != 0 || p.secret() != strings.HasPrefix(want, "t/secrets") {
			t.Errorf("%s is %s, %s, want %s", name, p.name, p.info.Mode(), want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		"t/local/loop": "too many levels of symbolic links", "t/local/out": "escapes", "t/local/host": "escapes", "t/local/many": "too many levels",
		"t/local/d/token/x": "not a directory", "t/local/none/x": "no such file", "t/local/\x00": "invalid argument",
	} {
		if p, err := walkTo(dir, name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %+v, %v, want %s", name, p, err, want)
		}
	}
}
