package artifact_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
)

// TestLocalSources copies from this machine, which Nomad does not support.
func TestLocalSources(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for name, text := range map[string][]byte{"app": []byte("app"), "x.tgz": tgz(t, entry{"c", "two"}), "tree/sub/x": []byte("x")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"tree/in": "sub/x", "out": "tree/../../..", "gone": "tree/none/../../../x"} {
		if err := os.MkdirAll(filepath.Join(dir, "links"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, link)
		if link == "out" || link == "gone" {
			path = filepath.Join(dir, link, "link")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		want     map[string]string
		err      string
	}{
		"file":                 {from("file://"+dir+"/app", "checksum", sha([]byte("app"))), map[string]string{"app": "app"}, ""},
		"path":                 {from(dir + "/app"), map[string]string{"app": "app"}, ""},
		"archive":              {from(dir + "/x.tgz"), map[string]string{"c": "two"}, ""},
		"directory":            {from(dir + "/tree"), map[string]string{"sub/x": "x", "in": "-> sub/x"}, ""},
		"directory of another": {from(dir + "/tree//sub"), map[string]string{"x": "x"}, ""},
		"links out":            {from(dir + "/out"), nil, "resolves outside of sandbox: link"},
		"links out, not there": {from(dir + "/gone"), nil, "resolves outside of sandbox: link"},
		"directory, mode file": {to(from(dir+"/tree"), "file", "local/x"), nil, `the mode is "file"`},
		"file, mode dir":       {to(from(dir+"/app"), "dir", ""), nil, `the mode is "dir"`},
		"not a file":           {from("/dev/null"), nil, "neither a file nor a directory"},
		"not there":            {from(dir + "/nothing"), nil, "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.artifact)
			if c.err != "" {
				s.mustFail(t, c.err)
				return
			}
			s.mustGet(t)
			if diff := cmp.Diff(c.want, tree(t, s.dirs.Local)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChown(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	server := serve(t, map[string][]byte{"/x.tgz": tgz(t, entry{"a/", ""}, entry{"a/b", "one"})})
	a := to(from(server.URL+"/x.tgz"), "", "made/here")
	a.Chown = true
	s := newStage(t, a)
	s.task.User = "nobody"
	s.mustGet(t)
	for _, name := range []string{"made", "made/here", "made/here/a", "made/here/a/b"} {
		if uid := owner(t, filepath.Join(s.dirs.Dir, name)); uid == 0 {
			t.Errorf("%s belongs to root", name)
		}
	}
	if uid := owner(t, s.dirs.Local); uid != 0 {
		t.Errorf("local was given away as well")
	}
}
