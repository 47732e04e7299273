package stub

import (
	"fmt"
	"os"

	"taskrun/jobspec"
)

// Exposed returns a warning if the file contains secrets that other users may
// read: Vault secrets and Nomad variables, regardless of their content.
func (s *Set) Exposed() (jobspec.Diagnostic, bool) {
	if !s.secretive {
		return jobspec.Diagnostic{}, false
	}
	info, err := os.Stat(s.File)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		return jobspec.Diagnostic{}, false
	}
	return jobspec.Diagnostic{
		Severity: jobspec.Warning,
		Summary:  fmt.Sprintf("the secrets in %q can be read by other users (mode %04o)", s.File, info.Mode().Perm()),
		Remedy:   "chmod 600 " + s.File + ", or take the secrets from files with file(…)",
	}, true
}
