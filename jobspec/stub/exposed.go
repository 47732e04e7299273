package stub

import (
	"fmt"
	"os"

	"taskrun/jobspec"
)

// Exposed returns a notice if the file contains secrets that other users may
// read: Vault secrets and Nomad variables, regardless of their content. It is
// never more than that, because git checks files out with mode 0644.
func (s *Set) Exposed() (jobspec.Diagnostic, bool) {
	if !s.secretive {
		return jobspec.Diagnostic{}, false
	}
	info, err := os.Stat(s.File)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		return jobspec.Diagnostic{}, false
	}
	return jobspec.Diagnostic{
		Severity: jobspec.Notice,
		Summary:  fmt.Sprintf("the secrets in %q can be read by other users (mode %04o)", s.File, info.Mode().Perm()),
		Remedy:   "file(…) and env(\"NAME\") keep secrets out of the file; or chmod 600 " + s.File,
	}, true
}
