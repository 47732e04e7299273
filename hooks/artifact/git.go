package artifact

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskrun/jobspec/redact"
)

// getGit clones a repository with its submodules, using the git of this
// machine. The options ref, depth and sshkey are those of go-getter version 1,
// which Nomad uses. (Version 2 cannot make a shallow clone of a branch, leaves
// processes behind when it is interrupted, and lets git prompt on the
// terminal.) The repository is stored as name in the stage.
func (o *order) getGit(ctx context.Context, cfg Config, stage *os.Root, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.GitTimeout, fmt.Errorf("it took longer than %v", cfg.GitTimeout))
	defer cancel()
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("git is not installed, or not in PATH")
	}
	ref, depth, key := o.take("ref"), o.take("depth"), o.take("sshkey")
	if strings.HasPrefix(ref, "-") {
		return fmt.Errorf("%q is not a ref", ref)
	}
	g := checkout{stage: stage, name: name, env: newGitEnv(os.Environ())}
	if key != "" {
		if err := g.useKey(key); err != nil {
			return fmt.Errorf("cannot use sshkey: %w", err)
		}
		defer func() { _ = stage.Remove("sshkey") }()
	}
	address, credential, err := splitURL(o.address())
	if err != nil {
		return err
	}
	if credential != nil {
		g.env.add(credential)
	}
	clone, shallow := []string{"clone"}, false
	if n, err := strconv.Atoi(depth); err == nil && n > 0 {
		shallow = true
		g.shallow = []string{"--depth", depth}
		clone = append(clone, g.shallow...)
		if ref != "" {
			clone = append(clone, "--branch", ref)
		}
	}
	_, err = g.env.git(ctx, stage.Name(), append(clone, "--", address, name)...)
	if err != nil && shallow && ref != "" {
		return fmt.Errorf("%w; with depth, ref must be a branch or a tag", err)
	}
	if err == nil && !shallow && ref != "" {
		_, err = g.git(ctx, "checkout", ref)
	}
	if err == nil {
		err = g.submodules(ctx)
	}
	return err
}

// A checkout is a repository that is cloned to name in the stage.
type checkout struct {
	stage   *os.Root
	name    string
	env     *gitEnv
	shallow []string // arguments
	parents int      // nesting depth as a submodule
}

func (g checkout) git(ctx context.Context, args ...string) (string, error) {
	return g.env.git(ctx, filepath.Join(g.stage.Name(), g.name), args...)
}

// useKey makes ssh use a key, in base64.
func (g checkout) useKey(key string) error {
	text, err := base64.StdEncoding.DecodeString(key)
	if err == nil {
		err = g.stage.WriteFile("sshkey", text, 0o600)
	}
	ssh := os.Getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		ssh = "ssh"
	}
	file := strings.ReplaceAll(filepath.Join(g.stage.Name(), "sshkey"), "'", `'\''`)
	g.env.env = append(g.env.env, "GIT_SSH_COMMAND="+ssh+" -i '"+file+"'")
	return err
}

// maxDepth limits the nesting of submodules.
const maxDepth = 32

// submodules clones the submodules, recursively. It checks each URL before git
// sees it, because git would pass credentials in .gitmodules to its helpers as
// arguments.
func (g checkout) submodules(ctx context.Context) error {
	if info, err := g.stage.Lstat(filepath.Join(g.name, ".gitmodules")); err != nil || !info.Mode().IsRegular() {
		return nil // git does not follow this link either
	}
	if g.parents == maxDepth {
		return fmt.Errorf("submodules are nested more than %d deep", maxDepth)
	}
	urls, err := g.modules(ctx, "url")
	if err != nil {
		return err
	}
	for _, m := range urls {
		clean, credential, err := splitURL(m.value)
		if err != nil {
			return fmt.Errorf("submodule %q: %w", m.name, err)
		}
		if credential == nil {
			continue
		}
		credential.base = clean // two submodules on one server may have different credentials
		g.env.add(credential)
		if _, err := g.git(ctx, "config", "submodule."+m.name+".url", clean); err != nil {
			return err
		}
	}
	if _, err := g.git(ctx, append([]string{"submodule", "update", "--init"}, g.shallow...)...); err != nil {
		return err
	}
	paths, err := g.modules(ctx, "path")
	if err != nil {
		return err
	}
	for _, m := range paths {
		sub := g
		sub.name, sub.parents = filepath.Join(g.name, m.value), g.parents+1
		if !filepath.IsLocal(m.value) {
			continue
		}
		if _, err := g.stage.Stat(filepath.Join(sub.name, ".git")); err != nil {
			continue // the submodule is not active
		}
		if err := sub.submodules(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A module is a setting of a submodule in .gitmodules.
type module struct{ name, value string }

func (g checkout) modules(ctx context.Context, key string) (found []module, err error) {
	list, err := g.git(ctx, "config", "--file", ".gitmodules", "--null", "--list")
	for entry := range strings.SplitSeq(list, "\x00") {
		name, value, _ := strings.Cut(entry, "\n")
		if name, ok := strings.CutPrefix(name, "submodule."); ok {
			if name, ok := strings.CutSuffix(name, "."+key); ok {
				found = append(found, module{name, value})
			}
		}
	}
	return found, err
}

// git runs git without prompts. When ctx ends, git is killed with its children.
// It stays in the session of this program: processes in other sessions would be
// taken for a task's, see drivers/process.
func (e *gitEnv) git(ctx context.Context, dir string, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, e.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for the output of git's children
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		said := redact.Text(strings.TrimSpace(out.String() + text.String()))
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.ReplaceAll(said, "\n", "; "))
	}
	return out.String(), nil
}
