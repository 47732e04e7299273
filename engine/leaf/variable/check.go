package variable

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// maxItems is how large the items of a variable may be together, in bytes, as
// in Nomad.
const maxItems = 64 << 10

// validPath is what Nomad's variables may be called.
var validPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9-_~/]{1,128}$`) })

// Check says what is wrong with a variable that somebody wants to put.
func Check(v *api.Variable) error {
	if err := checkPath(v.Path); err != nil {
		return err
	}
	if v.Items == nil {
		return errors.New("variable missing required Items object")
	}
	size := 0
	for name, value := range v.Items {
		size += len(name) + len(value)
	}
	if size > maxItems {
		return fmt.Errorf("variables are limited to 64KiB in total size: this one has %d bytes", size)
	}
	return nil
}

func checkPath(path string) error {
	if !validPath().MatchString(path) {
		return fmt.Errorf("invalid path %q: it has 1 to 128 letters, digits and characters of -_~/", path)
	}
	first, rest, _ := strings.Cut(path, "/")
	if first != "nomad" {
		return nil
	}
	switch second, _, _ := strings.Cut(rest, "/"); second {
	case "jobs", "job-templates":
		return nil
	}
	return fmt.Errorf("only paths at \"nomad/jobs\" or \"nomad/job-templates\" and below are valid paths under the top-level directory \"nomad\", not %q", path)
}
