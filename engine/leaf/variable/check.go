package variable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Limits of a variable, as in Nomad.
const (
	maxItems = 64 << 10 // bytes of all names and values
	maxPath  = 128      // characters
)

// Check returns why a variable cannot be stored, in Nomad's words, or nil.
func Check(v *api.Variable) error {
	if err := checkPath(v.Path); err != nil {
		return err
	}
	size := 0
	for name, value := range v.Items {
		size += len(name) + len(value)
	}
	if size > maxItems {
		return fmt.Errorf("variables are limited to %dKiB in total size", maxItems>>10)
	}
	return nil
}

// checkPath checks the characters of a path, and the use of paths that are
// reserved for Nomad itself.
func checkPath(path string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_~/", r)
	}
	if path == "" || len(path) > maxPath || strings.ContainsFunc(path, odd) {
		return fmt.Errorf("invalid path %q", path)
	}
	first, rest, deep := strings.Cut(path, "/")
	if first != "nomad" {
		return nil
	}
	second, third, deeper := strings.Cut(rest, "/")
	switch {
	case second == "jobs" || second == "sentinel":
		return nil
	case second == "job-templates" && deeper && !strings.Contains(third, "/"):
		return nil
	case second == "job-templates" || !deep:
		return fmt.Errorf("%q is a reserved path: use nomad/jobs, nomad/job-templates/NAME, or a path below nomad/jobs", path)
	default:
		return errors.New(`only paths at "nomad/jobs" or "nomad/job-templates" and below are valid paths under the top-level "nomad" directory`)
	}
}
