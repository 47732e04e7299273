package environment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/hooks/environment"
	"taskrun/jobspec/redact"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"MODE": "fast", "DB_PASSWORD": "s3cret", "PATH": "/bin", "NOMAD_TASK_NAME": "t", "NOMAD_TOKEN": "s3cret", "FROM_TEMPLATE": "s3cret",
		"URL": "https://u:s3cret@h/", "IMAGE_VERSION": "1", "OF_BLOCK": "s3cret", "NOTHING": "", "JWT": "eyJhbGciOi.eyJzdWIi.s3cret",
	}
	block := map[string]string{"MODE": "fast", "DB_PASSWORD": "s3cret", "OF_BLOCK": "${secret.x}", "URL": variables["URL"], "NOTHING": "", "JWT": variables["JWT"]}
	kept := []string{
		"DB_PASSWORD=" + redact.Hidden, "FROM_TEMPLATE=" + redact.Hidden, "JWT=x", "MODE=fast", "NOMAD_TASK_NAME=t", "NOMAD_TOKEN=" + redact.Hidden,
		"NOTHING=", "OF_BLOCK=" + redact.Hidden, "PATH=/bin", "URL=x",
	}
	const hidden = redact.Hidden
	for name, c := range map[string]struct {
		kept []string
		want []string
		hide []string
	}{
		"with what was kept": {kept, []string{
			"DB_PASSWORD=" + hidden, "FROM_TEMPLATE=" + hidden, "IMAGE_VERSION=1", "JWT=" + hidden, "MODE=fast", "NOMAD_TASK_NAME=t",
			"NOMAD_TOKEN=" + hidden, "NOTHING=", "OF_BLOCK=" + hidden, "PATH=/bin", "URL=https://" + hidden + "@h/",
		}, []string{"DB_PASSWORD", "FROM_TEMPLATE", "NOMAD_TOKEN", "OF_BLOCK"}},
		"in a cluster": {nil, []string{
			"DB_PASSWORD=" + hidden, "FROM_TEMPLATE=" + hidden, "IMAGE_VERSION=" + hidden, "JWT=" + hidden, "MODE=fast", "NOMAD_TASK_NAME=t",
			"NOMAD_TOKEN=" + hidden, "NOTHING=", "OF_BLOCK=" + hidden, "PATH=/bin", "URL=https://" + hidden + "@h/",
		}, []string{"DB_PASSWORD", "FROM_TEMPLATE", "IMAGE_VERSION", "NOMAD_TOKEN", "OF_BLOCK"}},
	} {
		got, hide := environment.Redact(variables, c.kept, block)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.hide, hide); diff != "" {
			t.Errorf("%s: hidden (-want +got):\n%s", name, diff)
		}
	}
}
