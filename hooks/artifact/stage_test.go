package artifact_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/hooks"
	"taskrun/hooks/artifact"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022)                   // some tests compare modes
	_ = os.Setenv("no_proxy", "127.0.0.1") // git would reach the tests' servers through a proxy
	goleak.VerifyTestMain(m)
}

// stage is a task with artifacts, its directories, and its events.
type stage struct {
	cfg   artifact.Config
	alloc string
	dir   *allocdir.Dir
	dirs  allocdir.Task
	task  *api.Task
	hook  hooks.TaskPrestart

	mu     sync.Mutex
	events []*api.TaskEvent
	notes  []string
}

func newStage(t *testing.T, artifacts ...*api.TaskArtifact) *stage {
	t.Helper()
	s := &stage{alloc: filepath.Join(leaktest.TempDir(t), "alloc-id"), task: &api.Task{Name: "t"}}
	s.dir = allocdir.At(s.alloc)
	t.Cleanup(func() { _ = s.dir.Close() })
	if err := errors.Join(s.dir.Build(), s.dir.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	s.dirs = allocdir.TaskOf(s.alloc, "t")
	s.add(artifacts...)
	return s
}

func (s *stage) add(artifacts ...*api.TaskArtifact) {
	for _, a := range artifacts {
		a.Canonicalize()
		s.task.Artifacts = append(s.task.Artifacts, a)
	}
}

// get downloads the artifacts; another call is the next start of the same task.
func (s *stage) get(ctx context.Context) (*hooks.PrestartResponse, error) {
	if s.hook == nil {
		s.hook = artifact.New(s.cfg)(hooks.Task{
			Task: s.task, AllocDir: s.alloc, Dir: s.dir,
			Emit: func(e *api.TaskEvent) { s.events = append(s.events, e) },
			Publish: func(_ time.Time, body event.Body) {
				s.mu.Lock()
				defer s.mu.Unlock()
				if notice, ok := body.(event.Notice); ok {
					s.notes = append(s.notes, notice.Text)
				}
			},
		}).(hooks.TaskPrestart)
	}
	b := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, &api.Job{}, &api.TaskGroup{Tasks: []*api.Task{s.task}}, s.task).SetClientDir(s.alloc)
	b.HostEnv = []string{"WORD=there"}
	var resp hooks.PrestartResponse
	err := s.hook.Prestart(ctx, &hooks.PrestartRequest{Env: b.Build(), TaskDir: s.dirs.Dir}, &resp)
	return &resp, err
}

// mustGet downloads the artifacts without an error.
func (s *stage) mustGet(t *testing.T) {
	t.Helper()
	resp, err := s.get(t.Context())
	if err != nil || !resp.Done {
		t.Fatalf("done: %v, error: %v", resp.Done, err)
	}
	s.checkClean(t)
}

// mustFail downloads with a recoverable error, with Nomad's event, and leaves
// nothing in local.
func (s *stage) mustFail(t *testing.T, want string) {
	t.Helper()
	resp, err := s.get(t.Context())
	if err == nil || resp.Done {
		t.Fatalf("done: %v, error: %v", resp.Done, err)
	}
	own, ok := errors.AsType[*hooks.EventError](err)
	if !ok || !drivers.IsRecoverable(err) || own.Event.Type != "Failed Artifact Download" {
		t.Errorf("not the error that Nomad has: %#v", err)
	}
	if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "failed to download artifact ") {
		t.Errorf("error %q, want %q", err, want)
	}
	if got := tree(t, s.dirs.Local); len(got) > 0 {
		t.Errorf("something is in local: %v", got)
	}
	s.checkClean(t)
}

func (s *stage) checkClean(t *testing.T) {
	t.Helper()
	staging, err := allocdir.Staging(s.alloc)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.dirs.Private, staging} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left in %s: %v", dir, left)
		}
	}
	for _, dir := range []string{s.dirs.Local, staging} {
		if open := leaktest.Open(dir); len(open) > 0 {
			t.Errorf("still open: %q", open)
		}
	}
}

// tree returns the text of the files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && e.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if target, err := os.Readlink(path); err == nil {
			files[rel] = "-> " + target
			return nil
		}
		text, err := os.ReadFile(path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// from returns an artifact with options, given as alternating names and values.
func from(source string, options ...string) *api.TaskArtifact {
	a := &api.TaskArtifact{GetterSource: &source, GetterOptions: map[string]string{}}
	for i := 0; i < len(options); i += 2 {
		a.GetterOptions[options[i]] = options[i+1]
	}
	return a
}

func to(a *api.TaskArtifact, mode, destination string) *api.TaskArtifact {
	if mode != "" {
		a.GetterMode = &mode
	}
	if destination != "" {
		a.RelativeDest = &destination
	}
	return a
}

// serve serves files by path.
func serve(t *testing.T, files map[string][]byte) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if r.Method != http.MethodGet || !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server
}

// entry is an entry of an archive: a file, or a directory if its name ends with
// a slash.
type entry struct{ name, text string }

func tgz(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o4755, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gz(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func owner(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}
