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
)

// getGit clones a repository with its submodules, by the git of this machine.
// The options ref, depth and sshkey are those of go-getter's first version,
// which Nomad uses. (Its second one cannot clone a branch shallowly, leaves
// processes behind when it is interrupted, and lets git ask questions on the
// terminal.) The repository comes to name in the stage.
func (o *order) getGit(ctx context.Context, cfg Config, stage, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.GitTimeout, fmt.Errorf("it took longer than %v", cfg.GitTimeout))
	defer cancel()
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("git is not installed, or not in PATH")
	}
	ref, depth, key := o.take("ref"), o.take("depth"), o.take("sshkey")
	if strings.HasPrefix(ref, "-") {
		return fmt.Errorf("%q is no ref", ref)
	}
	dir, env := filepath.Join(stage, name), gitEnv(os.Environ())
	if key != "" {
		file := filepath.Join(stage, "sshkey")
		text, err := base64.StdEncoding.DecodeString(key)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("cannot use sshkey: %w", err)
		}
		defer func() { _ = os.Remove(file) }()
		ssh := os.Getenv("GIT_SSH_COMMAND")
		if ssh == "" {
			ssh = "ssh"
		}
		env = append(env, "GIT_SSH_COMMAND="+ssh+" -i '"+strings.ReplaceAll(file, "'", `'\''`)+"'")
	}
	clone, submodules := []string{"clone"}, []string{"submodule", "update", "--init", "--recursive"}
	shallow := false
	if n, err := strconv.Atoi(depth); err == nil && n > 0 {
		shallow = true
		clone = append(clone, "--depth", depth)
		submodules = append(submodules, "--depth", depth)
		if ref != "" {
			clone = append(clone, "--branch", ref)
		}
	}
	err := git(ctx, env, "", append(clone, "--", o.address(), dir)...)
	if err != nil && shallow && ref != "" {
		return fmt.Errorf("%w; with depth, ref must be a branch or a tag", err)
	}
	if err == nil && !shallow && ref != "" {
		err = git(ctx, env, dir, "checkout", ref)
	}
	if err == nil {
		err = git(ctx, env, dir, submodules...)
	}
	return err
}

// git runs git without a question to anybody. When ctx ends it dies with all
// that it started. It stays in the session of this program: what is in another
// one is taken for a task's, see drivers/process.
func git(ctx context.Context, env []string, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for the output of what git started
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "; "))
	}
	return nil
}

// gitEnv is the environment for git: without what binds it to a repository, as
// in a hook of git, and without a way to ask.
func gitEnv(environ []string) []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force"}
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_TERMINAL_PROMPT", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE":
		default:
			env = append(env, v)
		}
	}
	return env
}
