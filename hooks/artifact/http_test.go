package artifact_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
	"taskrun/hooks"
	"taskrun/hooks/artifact"
)

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestDestinations downloads files in all the ways that the documentation of
// the artifact block describes.
func TestDestinations(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"/app":        []byte("app"),
		"/x.tar.gz":   tgz(t, entry{"a/", ""}, entry{"a/b", "one"}, entry{"c", "two"}),
		"/x.zip":      zipped(t, entry{"a/b", "one"}, entry{"c", "two"}),
		"/one.zip":    zipped(t, entry{"only", "one"}),
		"/notes.gz":   gz(t, "notes"),
		"/packed":     tgz(t, entry{"c", "two"}),
		"/x.tgz.part": []byte("part"),
	}
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		want     map[string]string // below the task's directory, or "alloc/…" below the shared one
	}{
		"file":                   {from("/app?v=1"), map[string]string{"local/app": "app"}},
		"file elsewhere":         {to(from("/app"), "", "bin/${WORD}"), map[string]string{"bin/there/app": "app"}},
		"file by another name":   {from("/app", "filename", "run"), map[string]string{"local/run": "app"}},
		"mode file":              {to(from("/app"), "file", "local/run"), map[string]string{"local/run": "app"}},
		"mode file, no place":    {to(from("/app"), "file", ""), map[string]string{"local/app": "app"}},
		"checksum":               {from("/app", "checksum", sha([]byte("app"))), map[string]string{"local/app": "app"}},
		"absolute":               {to(from("/app"), "", "/etc/x"), map[string]string{"etc/x/app": "app"}},
		"shared":                 {to(from("/app"), "", "${NOMAD_ALLOC_DIR}/data"), map[string]string{"alloc/data/app": "app"}},
		"shared, relative":       {to(from("/app"), "", "../alloc/data"), map[string]string{"alloc/data/app": "app"}},
		"archive":                {from("/x.tar.gz"), map[string]string{"local/a/b": "one", "local/c": "two"}},
		"archive, mode dir":      {to(from("/x.zip"), "dir", "local/x"), map[string]string{"local/x/a/b": "one", "local/x/c": "two"}},
		"archive of one file":    {to(from("/one.zip"), "file", "local/run"), map[string]string{"local/run": "one"}},
		"archive left packed":    {from("/notes.gz", "archive", "false"), map[string]string{"local/notes.gz": string(gz(t, "notes"))}},
		"archive by option":      {from("/packed", "archive", "tar.gz"), map[string]string{"local/c": "two"}},
		"archive with checksum":  {from("/packed", "archive", "tgz", "checksum", sha(files["/packed"])), map[string]string{"local/c": "two"}},
		"compressed file":        {to(from("/notes.gz"), "file", "local/notes"), map[string]string{"local/notes": "notes"}},
		"no archive by its name": {from("/x.tgz.part"), map[string]string{"local/x.tgz.part": "part"}},
		"directory of archive":   {from("/x.tar.gz//a"), map[string]string{"local/b": "one"}},
		"directory by pattern":   {from("/x.zip//[ab]"), map[string]string{"local/b": "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, files)
			*c.artifact.GetterSource = server.URL + *c.artifact.GetterSource
			s := newStage(t, c.artifact)
			s.mustGet(t)
			got := tree(t, s.dirs.Dir)
			for name, text := range tree(t, filepath.Join(s.alloc, "alloc")) {
				got["alloc/"+name] = text
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(s.events) != 1 || s.events[0].Type != "Downloading Artifacts" || s.events[0].DisplayMessage != "Client is downloading artifacts" {
				t.Errorf("events: %v", s.events)
			}
		})
	}
}

// TestMergeKeepsExistingFiles unpacks over files and directories.
func TestMergeKeepsExistingFiles(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string][]byte{"/x.tgz": tgz(t, entry{"a/", ""}, entry{"a/new", "new"}, entry{"a/old", "newer"}, entry{"a/ro/", ""}, entry{"a/ro/x", "x"})})
	s := newStage(t, from(server.URL+"/x.tgz"))
	for name, text := range map[string]string{"a/old": "old", "a/kept": "kept", "b": "b"} {
		path := filepath.Join(s.dirs.Local, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.mustGet(t)
	want := map[string]string{"a/new": "new", "a/old": "newer", "a/kept": "kept", "a/ro/x": "x", "b": "b"}
	if diff := cmp.Diff(want, tree(t, s.dirs.Local)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(s.dirs.Local, "a/new")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v: setuid must be taken off", info.Mode(), err)
	}
}

func TestUndownloadableArtifacts(t *testing.T) {
	t.Parallel()
	app := []byte("app")
	files := map[string][]byte{
		"/app": app, "/dir/": app, "/notes.gz": gz(t, "notes"),
		"/up.tgz":    tgz(t, entry{"../../x", "x"}),
		"/abs.zip":   zipped(t, entry{"../x", "x"}),
		"/many.tgz":  tgz(t, entry{"a", "1"}, entry{"b", "2"}, entry{"c", "3"}, entry{"d", "4"}),
		"/many.zip":  zipped(t, entry{"a", "1"}, entry{"b", "2"}, entry{"c", "3"}, entry{"d", "4"}),
		"/large.tgz": tgz(t, entry{"a", strings.Repeat("x", 2000)}),
		"/large.zip": zipped(t, entry{"a", strings.Repeat("x", 2000)}),
		"/large.gz":  gz(t, strings.Repeat("x", 2000)),
		"/large":     make([]byte, 2000),
		"/no.tgz":    []byte("no archive"),
	}
	limits := artifact.Config{UnpackedFiles: 3, UnpackedSize: 1000, HTTPMaxSize: 1500}
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		want     string
	}{
		"not there":             {from("/nothing"), "bad response code: 404"},
		"wrong checksum":        {from("/app", "checksum", sha(nil)), "checksums did not match: expected " + sha(nil) + ", got " + sha(app)},
		"no checksum":           {from("/app", "checksum", "${WORD}"), `checksum "there" is not md5:HEX, sha1:HEX`},
		"a secret in an error":  {from("/app", "checksum", "${WORD}", "token", "${WORD}"), `checksum "xxxxx" is not md5:HEX`},
		"short checksum":        {from("/app", "checksum", "md5:${WORD}"), "32 hexadecimal digits of md5"},
		"to another task":       {to(from("/app"), "", "../other/local"), `destination "../other/local" is in neither`},
		"out of the allocation": {to(from("/app"), "", "../../x"), `destination "../../x" is in neither`},
		"by the name of a file": {from("/app", "filename", "../../x"), `"../../x" is not a name for a file`},
		"out of the archive":    {from("/up.tgz"), "entry contains '..'"},
		"out of the zip":        {from("/abs.zip"), "entry contains '..'"},
		"out of a directory":    {from("/many.tgz//../x"), `subdirectory "../x" leads out`},
		"many files":            {from("/many.tgz"), "too many files"},
		"many files in a zip":   {from("/many.zip"), "too many files"},
		"much in an archive":    {from("/large.tgz"), "larger than the limit of 1000 B"},
		"much in a zip":         {from("/large.zip"), "larger than the limit of 1000 B"},
		"much in a file":        {to(from("/large.gz"), "file", "local/x"), "larger than the limit of 1000 B"},
		"much to download":      {from("/large"), "the file is larger than the limit of 1.5 KiB"},
		"no archive":            {from("/no.tgz"), "cannot unpack it"},
		"unknown archive":       {from("/app", "archive", "rar"), `unknown kind of archive "rar"`},
		"compressed, any":       {from("/notes.gz"), `write mode = "file"`},
		"mode dir":              {to(from("/app"), "dir", ""), "http has no directories"},
		"a directory":           {from("/dir/"), "http has no directories"},
		"directory of a file":   {from("/app//x"), `there can be no "x" in a single file`},
		"no such directory":     {from("/large.tgz//x", "x", "y"), "larger than the limit of 1000 B"},
		"at run time":           {from("${WORD}"), "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(*c.artifact.GetterSource, "/") {
				*c.artifact.GetterSource = serve(t, files).URL + *c.artifact.GetterSource
			}
			s := newStage(t, c.artifact)
			s.cfg = limits
			s.mustFail(t, c.want)
			if got := tree(t, s.dirs.Dir); len(got) > 0 {
				t.Errorf("something is there: %v", got)
			}
		})
	}
}

// TestDestinationStaysInTheTask uses a destination that leads out of the
// allocation by a link.
func TestDestinationStaysInTheTask(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string][]byte{"/app": []byte("app"), "/x.tgz": tgz(t, entry{"a", "a"})})
	outside := leaktest.TempDir(t)
	for _, a := range []*api.TaskArtifact{
		to(from(server.URL+"/app"), "", "link/sub"), to(from(server.URL+"/app"), "file", "link/x"), to(from(server.URL+"/x.tgz"), "", "link"),
	} {
		s := newStage(t, a)
		if err := os.Symlink(outside, filepath.Join(s.dirs.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		s.mustFail(t, "link is a link, and a destination must not lead through one")
		if got := tree(t, outside); len(got) > 0 {
			t.Errorf("written through the link: %v", got)
		}
	}
}

// TestServerSeesRequests checks the requests that a server receives.
func TestServerSeesRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/here?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		user, password, _ := r.BasicAuth()
		_, _ = fmt.Fprintf(w, "%s %s %s %s:%s", r.Method, r.RequestURI, r.Header.Get("X-Word"), user, password)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	a := from("http://me:pass%20word@"+host+"/moved?b=2&a=1", "checksum", "", "archive", "false", "filename", "x", "token", "${WORD}")
	a.GetterHeaders = map[string]string{"X-Word": "is ${WORD}"}
	s := newStage(t, a)
	s.mustGet(t)
	want := map[string]string{"x": "GET /here?a=1&b=2&token=there is there me:pass word"}
	if diff := cmp.Diff(want, tree(t, s.dirs.Local)); diff != "" {
		t.Error(diff)
	}
}

func TestInsecure(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("app")) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	server.StartTLS()
	t.Cleanup(server.Close)
	newStage(t, from(server.URL+"/app")).mustFail(t, "certificate")
	a := from(server.URL + "/app")
	a.GetterInsecure = new(true)
	newStage(t, a).mustGet(t)
}

// TestSecretsStaySecret searches messages for passwords, tokens, keys and
// headers.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for source, shown := range map[string]string{
		"http://me:pass%20word@127.0.0.1:1/x?y=signature&archive=false": "http://xxxxx@127.0.0.1:1/x?y=xxxxx&archive=xxxxx",
		"http://signature@127.0.0.1:1/x":                                "http://xxxxx@127.0.0.1:1/x",
		"http://127.0.0.1:1/x?signature":                                "http://127.0.0.1:1/x?xxxxx",
		"http://127.0.0.1:1/${WORD}?a=${WORD}":                          "http://127.0.0.1:1/${WORD}?a=xxxxx",
	} {
		a := from(source, "aws_access_key_secret", "verysecret", "token", "${WORD}")
		a.GetterHeaders = map[string]string{"Authorization": "Bearer topsecret"}
		s := newStage(t, a)
		s.mustFail(t, "connection refused")
		_, err := s.get(t.Context())
		for _, secret := range []string{"pass%20word", "pass word", "verysecret", "topsecret", "there", "signature"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q is in %q", secret, err)
			}
		}
		if !strings.Contains(err.Error(), shown) {
			t.Errorf("%q is not in %q", shown, err)
		}
	}
}

// TestRetryDownloadsOnlyFailedArtifacts counts requests during a failed start
// and the next one.
func TestRetryDownloadsOnlyFailedArtifacts(t *testing.T) {
	t.Parallel()
	var good, bad atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			good.Add(1)
		} else if bad.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	s := newStage(t, from(server.URL+"/bad1"), from(server.URL+"/good"), from(server.URL+"/bad2"))
	_, err := s.get(t.Context())
	for _, name := range []string{"/bad1", "/bad2"} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("failed to download artifact %q: bad response code: 503", server.URL+name)) {
			t.Errorf("%s is not in the error: %v", name, err)
		}
	}
	s.mustGet(t)
	if good.Load() != 1 || bad.Load() != 4 {
		t.Errorf("%d requests for what was there, %d for what failed", good.Load(), bad.Load())
	}
	if diff := cmp.Diff(map[string]string{"good": "", "bad1": "", "bad2": ""}, tree(t, s.dirs.Local)); diff != "" {
		t.Error(diff)
	}
}

// TestThreeAtOnce uses a server that delays its responses until there are three
// requests.
func TestThreeAtOnce(t *testing.T) {
	t.Parallel()
	var asking, most atomic.Int32
	three := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n := asking.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == 3 {
			select {
			case <-three:
			default:
				close(three)
			}
		}
		select {
		case <-three:
		case <-r.Context().Done():
		}
		asking.Add(-1)
	}))
	t.Cleanup(server.Close)
	s := newStage(t)
	for i := range 7 {
		s.add(from(fmt.Sprint(server.URL, "/", i)))
	}
	s.mustGet(t)
	if most.Load() != 3 {
		t.Errorf("%d at once", most.Load())
	}
}

// TestKillEndsDownload cancels in the middle of a file.
func TestKillEndsDownload(t *testing.T) {
	t.Parallel()
	ctx, kill := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		kill()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	s := newStage(t, from(server.URL+"/x"))
	if _, err := s.get(ctx); err == nil {
		t.Error("no error")
	}
	s.checkClean(t)
	if got := tree(t, s.dirs.Local); len(got) > 0 {
		t.Errorf("half a file is there: %v", got)
	}
}

// TestIncompleteFileIsRefused uses a server that breaks off, with and without a
// content length.
func TestIncompleteFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]string{"announced": "1000", "chunked": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				_, _ = io.WriteString(w, "begin")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}))
			t.Cleanup(server.Close)
			newStage(t, from(server.URL+"/x")).mustFail(t, "unexpected EOF")
		})
	}
}

// A server that sends nothing more is given up.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	s := newStage(t, from(server.URL+"/x"))
	s.cfg.HTTPReadTimeout = 50 * time.Millisecond
	s.mustFail(t, "it took longer than 50ms")
}

// TestLargeUnannouncedOutput sends more than the limit without a content
// length.
func TestLargeUnannouncedOutput(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = io.WriteString(w, strings.Repeat("x", 500))
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	s := newStage(t, from(server.URL+"/x"))
	s.cfg.HTTPMaxSize = 1000
	s.mustFail(t, "larger than the limit of 1000 B")
}

func TestNoHookWithoutArtifacts(t *testing.T) {
	t.Parallel()
	if h := artifact.New(artifact.Config{})(hooks.Task{Task: &api.Task{}}); h != nil {
		t.Errorf("made %v", h)
	}
}
