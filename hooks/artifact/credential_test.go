package artifact_test

import (
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
)

// A gitServer serves repositories below a directory over HTTP, each one to one
// user, and checks the arguments of all processes meanwhile.
type gitServer struct {
	dir, host string
	users     map[string]string // "user:password" by repository

	mu        sync.Mutex
	arguments map[string]bool
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	path, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skipf("git cannot serve repositories: %v", err)
	}
	g := &gitServer{dir: leaktest.TempDir(t), users: map[string]string{}, arguments: map[string]bool{}}
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + g.dir, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.look()
		repository, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if user, password, ok := r.BasicAuth(); !ok || user+":"+password != g.users[repository] {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.host = strings.TrimPrefix(server.URL, "http://")
	return g
}

// look records the arguments of all processes of this machine.
func (g *gitServer) look() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none except on Linux
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range files {
		text, _ := os.ReadFile(name)
		g.arguments[strings.ReplaceAll(string(text), "\x00", " ")] = true
	}
}

// add creates a repository with a file, and submodules by their paths.
func (g *gitServer) add(t *testing.T, name, user string, submodules map[string]string) (commit string) {
	t.Helper()
	dir := filepath.Join(g.dir, name)
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet", "--initial-branch=main")
	files := map[string]string{"file": name}
	for path, url := range submodules {
		_, target, _ := strings.Cut(url, g.host+"/")
		if target == "" {
			target = strings.TrimPrefix(url, "../")
		}
		cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD")
		cmd.Dir = filepath.Join(g.dir, target)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		git("update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(string(out))+","+path)
		files[".gitmodules"] += "[submodule \"" + path + "\"]\n\tpath = " + path + "\n\turl = " + url + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", name)
	}
	git("commit", "--quiet", "--message=1")
	g.users[name] = user
	return git("rev-parse", "HEAD")
}

// TestGitCredentialsAreSeenNowhere clones from a server that requires
// passwords, with submodules that have their own, and searches the arguments of
// all processes, the result, and all messages for them.
func TestGitCredentialsAreSeenNowhere(t *testing.T) {
	t.Parallel()
	g := newGitServer(t)
	g.add(t, "deep", "d:SECRETdeep", nil)
	g.add(t, "sub", "other:SECRET/sub", map[string]string{"deep": "http://d:SECRETdeep@" + g.host + "/deep"})
	g.add(t, "same", "me:SECRET word", nil)
	g.add(t, "main", "me:SECRET word", map[string]string{"own": "http://other:SECRET%2Fsub@" + g.host + "/sub", "same": "../same"})
	g.add(t, "token", "SECRETtoken:", nil)
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		want     map[string]string
		err      string
	}{
		"password": {from("git::http://me:SECRET%20word@" + g.host + "/main"), map[string]string{
			"file": "main", "own/file": "sub", "own/deep/file": "deep", "same/file": "same",
		}, ""},
		"a token for a user":   {from("git::http://SECRETtoken@"+g.host+"/token", "depth", "1"), map[string]string{"file": "token"}, ""},
		"wrong":                {from("git::http://me:SECRETwrong@" + g.host + "/main"), nil, "Authentication failed for 'http://" + g.host + "/main/'"},
		"wrong token":          {from("git::http://SECRETwrong@" + g.host + "/main"), nil, "Authentication failed for 'http://" + g.host + "/main/'"},
		"query":                {from("git::http://me:SECRET%20word@" + g.host + "/main?token=SECRET"), nil, "git would show the query of the URL to all users of this machine"},
		"option":               {from("git::http://me:SECRET%20word@"+g.host+"/main", "token", "SECRET"), nil, "git would show the query of the URL"},
		"ssh":                  {from("git::ssh://me:SECRET@127.0.0.1:1/main"), nil, "ssh takes no password from a URL: use the option sshkey"},
		"a protocol with none": {from("git::git://me:SECRET@127.0.0.1:1/main"), nil, "and git needs none"},
		"not encoded":          {from("git::http://me:SEC%RET@127.0.0.1:1/main"), nil, "the source is not a valid URL"},
		"not a port":           {from("git::http://me:SEC?RET@127.0.0.1:1/main"), nil, "the source is not a valid URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.artifact)
			var shown string
			if c.err != "" {
				s.mustFail(t, c.err)
				_, err := s.get(t.Context())
				shown = err.Error()
			} else {
				s.mustGet(t)
				got := tree(t, s.dirs.Local)
				for name := range got {
					if strings.HasPrefix(filepath.Base(name), ".git") {
						delete(got, name)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
			if strings.Contains(shown, "SEC") || strings.Contains(shown, "RET") {
				t.Errorf("shown: %s", shown)
			}
			mustNotHold(t, s.alloc, "SECRET")
		})
	}
	t.Cleanup(func() {
		var helper bool
		for arguments := range g.arguments {
			helper = helper || strings.Contains(arguments, "remote-http")
			if strings.Contains(arguments, "SECRET") && strings.Contains(arguments, "git") {
				t.Errorf("everybody could see %q", arguments)
			}
		}
		if !helper && len(g.arguments) > 0 {
			t.Error("git's helper was not among the processes")
		}
	})
}

// mustNotHold searches all files below a directory for a text, except
// .gitmodules, which the repository contains.
func mustNotHold(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == ".gitmodules" {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			t.Errorf("%s holds %s", path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSubmodulesWithExposedCredentials(t *testing.T) {
	t.Parallel()
	g := newGitServer(t)
	g.add(t, "x", "me:pass", nil)
	g.add(t, "query", "me:pass", map[string]string{"x": "http://" + g.host + "/x"})
	for name, url := range map[string]string{
		"query": "http://" + g.host + "/x?token=SECRET", "ssh": "ssh://me:SECRET@127.0.0.1:1/x", "invalid": "http://me:SEC%RET@127.0.0.1:1/x",
	} {
		dir := filepath.Join(g.dir, "query")
		if err := os.WriteFile(filepath.Join(dir, ".gitmodules"), []byte("[submodule \"x\"]\n\tpath = x\n\turl = "+url+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", "commit", "--quiet", "--all", "--message="+name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		s := newStage(t, from("git::http://me:pass@"+g.host+"/query"))
		s.mustFail(t, `submodule "x": `)
		if _, err := s.get(t.Context()); strings.Contains(err.Error(), "SEC") || strings.Contains(err.Error(), "RET") {
			t.Errorf("%s: shown: %v", name, err)
		}
	}
}
