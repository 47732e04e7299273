package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const (
	defaultIdentity = "default"
	maxIdentityName = 128
)

// identities checks the workload identities of a task. One of them, without a
// name or named "default", is for Nomad itself. If there are two of those,
// Nomad silently uses the second; the parser warns about that, and refuses a
// third.
func (t *task) identities() {
	defaults := 0
	if t.t.Identity != nil {
		defaults++
		t.identity(t.t.Identity, t.at.Attr("identity"))
	}
	for id, at := range blocks(t.t.Identities, "identity", t.at) {
		t.identity(id, at)
		if !isDefault(id) {
			t.identityAdvice(id, at)
			continue
		}
		if defaults++; defaults > 2 {
			t.refuse(at, "task has several default identities", fmt.Sprintf("task %q has %d", t.t.Name, defaults), "keep one without a name")
		}
	}
}

func isDefault(id *api.WorkloadIdentity) bool { return id.Name == "" || id.Name == defaultIdentity }

func (c *checker) identity(id *api.WorkloadIdentity, at jobspec.Path) {
	if id.Name != "" && !isIdentifier(id.Name, "-_") {
		c.wrong(at.Attr("name"), "invalid identity name",
			fmt.Sprintf("%q", id.Name), fmt.Sprintf("write 1 to %d letters, digits, dashes and underscores", maxIdentityName))
	}
	if slices.Contains(id.Audience, "") && !isDefault(id) { // Nomad sets that of the default identity
		c.wrong(at.Attr("aud"), "audience is empty", "", "remove it or write a name")
	}
	c.choice(at.Attr("change_mode"), "change mode", id.ChangeMode, "", "noop", "restart", "signal")
	c.changeSignal(at, id.ChangeMode, id.ChangeSignal)
	if id.ChangeSignal != "" && (id.ChangeMode == "" || id.ChangeMode == "noop" || id.ChangeMode == "restart") {
		c.refuse(at.Attr("change_signal"), "change_signal needs change_mode signal",
			fmt.Sprintf("change_mode is %q", id.ChangeMode), `write change_mode = "signal" or remove change_signal`)
	}
	c.notNegative(at.Attr("ttl"), &id.TTL)
	if id.TTL > 0 && isDefault(id) {
		c.refuse(at.Attr("ttl"), "the default identity does not expire", fmt.Sprintf("ttl is %s", plain(id.TTL)), "remove ttl or name the identity")
	}
	if id.Filepath != "" && !id.File {
		c.refuse(at.Attr("filepath"), "filepath needs file = true", fmt.Sprintf("filepath is %q", id.Filepath), "add file = true")
	}
}

// identityAdvice warns about settings that Nomad advises against.
func (c *checker) identityAdvice(id *api.WorkloadIdentity, at jobspec.Path) {
	switch n := len(id.Audience); {
	case n == 0:
		c.hint(at, "identity has no audience", "any service accepts the token", `add aud = ["NAME"]`)
	case n > 1:
		c.hint(at.Attr("aud"), "identity has several audiences", "each of them can use the token with the others", "write an identity for each")
	}
	if !isDefault(id) && id.TTL == 0 {
		c.hint(at, "identity does not expire", "", `add ttl = "1h" or the like`)
	}
	if id.Env && id.ChangeMode != "restart" {
		c.warn(at.Attr("env"), "a renewed token does not reach the task", "a running process cannot get new environment variables", `add change_mode = "restart"`)
	}
}

// isIdentifier reports whether a name consists of 1 to 128 letters, digits and
// characters in extra.
func isIdentifier(name, extra string) bool {
	odd := strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune(extra, r) })
	return !odd && name != "" && len(name) <= maxIdentityName
}

func (t *task) vault() {
	v := t.t.Vault
	if v == nil {
		return
	}
	at := t.at.Attr("vault")
	mode := deref(v.ChangeMode)
	t.choice(at.Attr("change_mode"), "change mode", mode, "", "noop", "restart", "signal")
	t.changeSignal(at, mode, deref(v.ChangeSignal))
	if len(v.Policies) > 0 {
		t.hint(at.Attr("policies"), "policies has no effect", "a token gets the policies of its role", "write role = …")
	}
}

// secrets checks the secret blocks of a task.
// https://developer.hashicorp.com/nomad/docs/job-specification/secret
func (t *task) secrets() {
	seen := make(map[string]bool, len(t.t.Secrets))
	for s, at := range blocks(t.t.Secrets, "secret", t.at) {
		if !isIdentifier(s.Name, "_") {
			t.wrong(at, "invalid secret name", fmt.Sprintf("%q", s.Name), "write 1 to 128 letters, digits and underscores")
		}
		t.again(seen, at, s.Name)
		t.required(at, s.Path, "secret has no path", "add path = …")
		switch s.Provider {
		case "":
			t.refuse(at, "secret has no provider", "", `add provider = "nomad", "vault" or the name of a plugin`)
		case "nomad", "vault":
			if len(s.Env) > 0 {
				t.refuse(at.Attr("env"), fmt.Sprintf("provider %q takes no env", s.Provider), "", "write config { … }")
			}
		default:
			if len(s.Config) > 0 {
				t.refuse(at.Attr("config"), fmt.Sprintf("provider %q takes no config", s.Provider), "it is a plugin", "write env { … }")
			}
		}
		if s.Provider == "vault" && t.t.Vault == nil {
			t.refuse(at, "a secret of vault needs a vault block", fmt.Sprintf("task %q has none", t.t.Name), "add vault {} to the task")
		}
	}
}
