package artifact_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
)

// repository creates a repository with a branch "main" with two commits, and a
// tag "v1" at the first one, and returns its directory and the first commit.
func repository(t *testing.T) (dir, first string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir = leaktest.TempDir(t)
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
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", name)
	}
	git("init", "--quiet", "--initial-branch=main")
	write("README", "one")
	write("sub/x", "x")
	git("commit", "--quiet", "--message=1")
	git("tag", "v1")
	write("README", "two")
	git("commit", "--quiet", "--message=2")
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	git("checkout", "--quiet", "-b", "links")
	git("add", "out")
	git("commit", "--quiet", "--message=3")
	git("checkout", "--quiet", "main")
	return dir, git("rev-parse", "v1")
}

func TestGit(t *testing.T) {
	t.Parallel()
	dir, first := repository(t)
	url := "git::file://" + dir
	for name, c := range map[string]struct {
		artifact *api.TaskArtifact
		want     map[string]string
		err      string
	}{
		"default branch":        {from(url), map[string]string{"README": "two", "sub/x": "x"}, ""},
		"path":                  {from("git::" + dir), map[string]string{"README": "two", "sub/x": "x"}, ""},
		"tag":                   {from(url+"?ref=main", "ref", "v1"), map[string]string{"README": "one", "sub/x": "x"}, ""},
		"commit":                {from(url, "ref", first), map[string]string{"README": "one", "sub/x": "x"}, ""},
		"shallow":               {from(url, "depth", "1"), map[string]string{"README": "two", "sub/x": "x"}, ""},
		"shallow tag":           {from(url, "depth", "1", "ref", "v1"), map[string]string{"README": "one", "sub/x": "x"}, ""},
		"directory":             {to(from(url+"//sub"), "dir", ""), map[string]string{"x": "x"}, ""},
		"file":                  {to(from(url+"/README?ref=v1"), "file", "local/notes"), map[string]string{"notes": "one"}, ""},
		"no such file":          {to(from(url+"/nothing"), "file", "local/notes"), nil, `there is no file "nothing" in the repository`},
		"no such ref":           {from(url, "ref", "nope"), nil, "git checkout: exit status 1: error: pathspec 'nope'"},
		"shallow commit":        {from(url, "depth", "1", "ref", first), nil, "with depth, ref must be a branch or a tag"},
		"an option for ref":     {from(url, "ref", "--upload-pack=x"), nil, "is not a ref"},
		"no such repository":    {from("git::file:///nothing/here"), nil, "git clone: exit status 128"},
		"a link that leads out": {from(url, "ref", "links"), nil, "artifact includes symlink that resolves outside of sandbox: out"},
		"directory by a link":   {from(url+"//out", "ref", "links"), nil, `the download has 0 directories named "out"`},
		"below a link":          {from(url+"//out/ssl", "ref", "links"), nil, `the download has 0 directories named "out/ssl"`},
		"checksum":              {from(url, "checksum", sha(nil)), nil, "not for a repository"},
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
