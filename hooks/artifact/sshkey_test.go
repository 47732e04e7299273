package artifact

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// Git runs its ssh command with a shell: the key must be one argument, wherever
// it is.
func TestSSHKey(t *testing.T) {
	t.Setenv("GIT_SSH_COMMAND", `sh -c 'echo "$#"; cat "$2"' ssh`)
	stage := openRoot(t, filepath.Join(leaktest.TempDir(t), `it's "$(echo here)"`))
	g := checkout{stage: stage, env: newGitEnv(nil)}
	must(t, g.useKey(base64.StdEncoding.EncodeToString([]byte("the key"))))
	command, ok := strings.CutPrefix(g.env.env[len(g.env.env)-1], "GIT_SSH_COMMAND=")
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if !ok || err != nil || string(out) != "2\nthe key" {
		t.Errorf("%s writes %q, %v", command, out, err)
	}
	if info, err := stage.Stat("sshkey"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	if err := g.useKey("not base64!"); err == nil {
		t.Error("a key that is not base64 is used")
	}
}

// Special files stay out of the task's directory.
func TestInspectRefusesSpecialFiles(t *testing.T) {
	t.Parallel()
	stage := openRoot(t, leaktest.TempDir(t))
	must(t, stage.MkdirAll("got/dir", 0o700))
	must(t, stage.WriteFile("got/file", nil, 0o600))
	if err := inspect(stage, "got"); err != nil {
		t.Error(err)
	}
	if _, err := find(stage, "file"); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file as directory: %v", err)
	}
	must(t, unix.Mkfifo(filepath.Join(stage.Name(), "got/dir/fifo"), 0o600))
	if err := inspect(stage, "got"); err == nil || !strings.Contains(err.Error(), "dir/fifo, which is neither file nor directory") {
		t.Errorf("a FIFO: %v", err)
	}
	if err := inspect(stage, "none"); !os.IsNotExist(err) {
		t.Errorf("nothing: %v", err)
	}
}

// git gets the configuration of the user, but no repository and no prompt, and keeps the
// configuration out of its arguments.
func TestEnvironmentOfGit(t *testing.T) {
	t.Parallel()
	e := newGitEnv([]string{
		"HOME=/h", "GIT_DIR=/x", "GIT_WORK_TREE=/x", "GIT_INDEX_FILE=/x", "GIT_TERMINAL_PROMPT=1", "SSH_ASKPASS=/x", "SSH_ASKPASS_REQUIRE=never",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=a", "GIT_CONFIG_VALUE_1=b",
	})
	e.set("k", "v")
	want := []string{
		"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force", "HOME=/h", "GIT_CONFIG_KEY_1=a", "GIT_CONFIG_VALUE_1=b",
		"GIT_CONFIG_KEY_2=k", "GIT_CONFIG_VALUE_2=v", "GIT_CONFIG_COUNT=3",
	}
	if diff := cmp.Diff(want, e.environ()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Submodules of submodules end somewhere.
func TestDeepSubmodules(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(leaktest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	g := checkout{stage: root, name: ".", env: newGitEnv(nil), parents: maxDepth}
	if err := g.submodules(t.Context()); err != nil {
		t.Errorf("without submodules: %v", err)
	}
	if err := root.WriteFile(".gitmodules", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.submodules(t.Context()); err == nil || err.Error() != "submodules are nested more than 32 deep" {
		t.Errorf("with submodules: %v", err)
	}
}

// The credentials are separated from a URL, or it is refused.
func TestSplitURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ clean, user, refused string }{
		"https://host/x":                 {clean: "https://host/x"},
		"https://u:p%40@host/x":          {clean: "https://host/x", user: "u p@"},
		"git@host:a%zz/x.git":            {clean: "git@host:a%zz/x.git"},
		"https://u:p%@host/x":            {refused: "the URL is invalid"},
		"https://u:a%0ahost=evil@host/x": {refused: "control character"},
		"https://host/x?token=t":         {refused: "query"},
		"ssh://u@host/x":                 {clean: "ssh://u@host/x"},
		"ssh://u:p@host/x":               {refused: "sshkey"},
		"file://u@host/x":                {refused: "user name"},
	} {
		clean, c, err := splitURL(text)
		if want.refused != "" {
			if err == nil || !strings.Contains(err.Error(), want.refused) || strings.Contains(err.Error(), "evil") {
				t.Errorf("%s: error %v, want %q", text, err, want.refused)
			}
			continue
		}
		user := ""
		if c != nil {
			user = c.user + " " + c.password
		}
		if clean != want.clean || user != want.user || err != nil {
			t.Errorf("%s: %q, %q, %v", text, clean, user, err)
		}
	}
}
