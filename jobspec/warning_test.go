package jobspec_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

// warnings are those about files that Nomad accepts silently.
var warnings = map[string][]string{
	"017-identity-order":        {`12: this is a second default identity`},
	"026-affinity-weight-wraps": {`5: the weight counts as 44`},
	"041-durations": {
		`17: "kill_timeout" is 30 nanoseconds`,
		`18: "shutdown_delay" is 7 nanoseconds`,
	},
	"050-deferred-strings": {
		`24: ${   root.  field[  "FOO"].5  } is not a reference that Nomad knows`,
		`25: ${FOO} is not a reference that Nomad knows`,
		`27: ${A} is not a reference that Nomad knows`,
		`27: ${B} is not a reference that Nomad knows`,
		`27: ${C.d} is not a reference that Nomad knows`,
		`29: ${vars.x} is not a reference that Nomad knows`,
		`29: ${path.module} is not a reference that Nomad knows`,
		`29: ${each.key} is not a reference that Nomad knows`,
		`30: ${FOO} is not a reference that Nomad knows`,
	},
	"051-deferred-in-functions": {
		`8: ${foo.bar} is not a reference that Nomad knows`,
		`9: ${foo.bar} is not a reference that Nomad knows`,
		`10: ${foo} is not a reference that Nomad knows`,
		`11: ${FOO} is not a reference that Nomad knows`,
		`18: ${FOO} is not a reference that Nomad knows`,
		`22: ${foo} is not a reference that Nomad knows`,
	},
	"052-deferred-splat-list": {`2: ${foo} is not a reference that Nomad knows`},
	"053-deferred-extra-braces": {
		`14: ${P} is not a reference that Nomad knows`,
		`15: ${P} is not a reference that Nomad knows`,
		`16: ${FOO} is not a reference that Nomad knows`,
	},
	"055-locals-duplicate":               {`5: local "x" is given twice`},
	"057-variables-from-args":            {`1: --var ignored-without-equals sets nothing`},
	"063-hcl2-strict-off":                {`1: the job file does not declare a variable "unknown"`},
	"075-config-block-shadows-attribute": {`6: "both" is given as an attribute and as a block`},
	"076-volume-label-duplicate":         {`7: volume "v" is given twice`},
	"077-group-vault-errors-swallowed": {
		`5: unknown attribute "unknown" in vault`,
		`7: "vault" is given twice`,
	},
}

func TestIgnoredSettingsHaveWarnings(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, path := range jobFiles(t, "testdata/ok") {
		name := caseName(path)
		_, diagnostics := parseCase(t, path)
		var got []string
		for _, diagnostic := range diagnostics {
			if diagnostic.Severity != jobspec.Warning {
				t.Errorf("%s: %v", path, diagnostic)
			}
			got = append(got, fmt.Sprintf("%d: %s", diagnostic.Range.Start.Line, diagnostic.Summary))
		}
		if diff := cmp.Diff(warnings[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(path), diff)
		}
		seen[name] = true
	}
	for name := range warnings {
		if !seen[name] {
			t.Errorf("there is no file for %s", name)
		}
	}
}
