package artifact_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/leaktest"
)

// TestTaskCannotMoveAnArtifact lets a task replace its directories by links
// while the server responds, and private by a directory with an archive and
// links: nothing may be written through them.
func TestTaskCannotMoveAnArtifact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		replace  string // below the task's directory
	}{
		"private":                    {from("/x.tgz"), "private"},
		"private, a file":            {from("/app"), "private"},
		"the destination":            {from("/x.tgz"), "local"},
		"the destination of a file":  {from("/app"), "local"},
		"a part of the destination":  {to(from("/x.tgz"), "", "local/a/b"), "local/a"},
		"a directory of the archive": {from("/x.tgz"), "local/dir"},
		"a file of the archive":      {from("/x.tgz"), "local/name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := leaktest.TempDir(t)
			var s *stage
			files := map[string][]byte{"/app": []byte("app"), "/x.tgz": tgz(t, entry{"name", "text"}, entry{"dir/", ""}, entry{"dir/file", "text"})}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path := filepath.Join(s.dirs.Dir, c.replace)
				there, _ := os.ReadDir(path) // for example, a directory with prepared files
				replaceByLink(path, outside)
				for _, e := range there {
					_ = os.Remove(path)
					planted := filepath.Join(path, e.Name())
					_ = os.MkdirAll(planted, 0o700)
					_ = os.WriteFile(filepath.Join(planted, "packed"), tgz(t, entry{"planted", ""}), 0o600)
					_ = os.Symlink(outside, filepath.Join(planted, "got"))
				}
				_, _ = w.Write(files[r.URL.Path])
			}))
			t.Cleanup(server.Close)
			*c.artifact.GetterSource = server.URL + *c.artifact.GetterSource
			s = newStage(t, c.artifact)
			_, _ = s.get(t.Context()) // may succeed or fail
			if got := tree(t, outside); len(got) > 0 {
				t.Errorf("written through a link: %v", got)
			}
		})
	}
}

func replaceByLink(path, target string) {
	_ = os.RemoveAll(path + ".moved")
	_ = os.Rename(path, path+".moved")
	_ = os.Symlink(target, path)
}

// TestTaskCannotRaceArtifacts lets a task change its directories continuously
// while artifacts arrive. Neither an outside directory nor that of another task
// may receive anything.
func TestTaskCannotRaceArtifacts(t *testing.T) {
	t.Parallel()
	outside := leaktest.TempDir(t)
	server := serve(t, map[string][]byte{"/app": []byte("app"), "/x.tgz": tgz(t, entry{"dir/", ""}, entry{"dir/sub/file", "text"}, entry{"name", "text"})})
	s := newStage(t,
		from(server.URL+"/app"), to(from(server.URL+"/x.tgz"), "", "local/a"), to(from(server.URL+"/x.tgz"), "", "local/a/b"),
		to(from(server.URL+"/app"), "file", "${NOMAD_ALLOC_DIR}/data/x/app"))
	if err := s.dir.BuildTask("other", nil); err != nil {
		t.Fatal(err)
	}
	other := allocdir.TaskOf(s.alloc, "other")
	done := make(chan struct{})
	var attack sync.WaitGroup
	for i, path := range []string{"t/private", "t/local", "t/local/a", "t/local/a/dir", "alloc/data"} {
		path, target := filepath.Join(s.alloc, path), []string{outside, other.Secrets}[i%2]
		attack.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				replaceByLink(path, target)
				_ = os.Remove(path)
				_ = os.Rename(path+".moved", path)
			}
		})
	}
	for range 10 {
		s.hook = nil // as if nothing had been downloaded
		_, _ = s.get(t.Context())
	}
	close(done)
	attack.Wait()
	for _, dir := range []string{outside, other.Dir} {
		for name, text := range tree(t, dir) {
			if !strings.HasPrefix(text, "-> ") { // links of the attack itself
				t.Errorf("%s was written to %s: %q", name, dir, text)
			}
		}
	}
	s.checkClean(t)
}
