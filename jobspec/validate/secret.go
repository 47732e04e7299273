package validate

import "fmt"

// secrets checks the secret blocks of a task.
// https://developer.hashicorp.com/nomad/docs/job-specification/secret
func (t *task) secrets() {
	seen := make(map[string]bool, len(t.t.Secrets))
	for i, s := range t.t.Secrets {
		s, at := orEmpty(s), t.at.Index("secret", i)
		if !isIdentifier(s.Name, "_") {
			t.refuse(at, "invalid secret name", fmt.Sprintf("%q", s.Name), "write 1 to 128 letters, digits and underscores")
		}
		if seen[s.Name] {
			t.refuse(at, fmt.Sprintf("secret %q is defined twice", s.Name), fmt.Sprintf("in task %q", t.t.Name), "rename one of them")
		}
		seen[s.Name] = true
		if s.Path == "" {
			t.refuse(at, "secret has no path", "", "add path = …")
		}
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
