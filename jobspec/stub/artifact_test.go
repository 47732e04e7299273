package stub_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArtifactSecretsAreHidden(t *testing.T) {
	t.Parallel()
	set := parse(t, `
		artifact "https://a/x" {
		  options {
		    sshkey   = "the key"
		    checksum = "the sum"
		  }
		  headers {
		    Authorization = "the token"
		  }
		}`)
	if diff := cmp.Diff([]string{"taskrun-local-token", "the key", "the token"}, set.SecretValues()); diff != "" {
		t.Error(diff)
	}
}
