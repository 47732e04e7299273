package taskenv

import (
	"iter"
	"slices"
	"strings"
)

// denied lists the variables of the host that no task inherits: Nomad's default
// for the client option env.denylist, and taskrun's own variables for clusters.
// See
// https://developer.hashicorp.com/nomad/docs/configuration/client#env-denylist.
var denied = map[string]bool{
	"CONSUL_TOKEN": true, "CONSUL_HTTP_TOKEN": true, "CONSUL_HTTP_TOKEN_FILE": true,
	"NOMAD_TOKEN": true, "VAULT_TOKEN": true,
	"TASKRUN_TOKEN": true, "TASKRUN_HTTP_AUTH": true,
	"CONSUL_LICENSE": true, "NOMAD_LICENSE": true, "VAULT_LICENSE": true,
	"CONSUL_LICENSE_PATH": true, "NOMAD_LICENSE_PATH": true, "VAULT_LICENSE_PATH": true,
	"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true,
	"AWS_METADATA_URL":               true,
	"GOOGLE_APPLICATION_CREDENTIALS": true, "GOOGLE_OAUTH_ACCESS_TOKEN": true,
}

// allowed returns the variables of environ, in the form of os.Environ, that a
// task may inherit. The last one of a name comes first.
func allowed(environ []string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, entry := range slices.Backward(environ) {
			name, value, ok := strings.Cut(entry, "=")
			if ok && name != "" && !denied[name] && !yield(name, value) {
				return
			}
		}
	}
}
