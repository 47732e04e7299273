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

// Check returns why a variable cannot be stored, or nil.
func Check(v *api.Variable) error {
	if err := checkPath(v.Path); err != nil {
		return fmt.Errorf("cannot store a variable at %q: %w", v.Path, err)
	}
	if v.Items == nil {
		return errors.New("the variable has no Items")
	}
	size := 0
	for name, value := range v.Items {
		size += len(name) + len(value)
	}
	if size > maxItems {
		return fmt.Errorf("the Items of the variable have %d bytes: %d KiB are the most", size, maxItems>>10)
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
		return fmt.Errorf("a path is 1 to %d letters, digits, and characters of -_~/", maxPath)
	}
	parts := strings.Split(path, "/")
	if parts[0] == "nomad" && (len(parts) == 1 || parts[1] != "jobs" && parts[1] != "job-templates") {
		return errors.New("below nomad there are the paths nomad/jobs and nomad/job-templates only")
	}
	return nil
}
