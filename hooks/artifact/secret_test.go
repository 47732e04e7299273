package artifact

import (
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// TestSecretsOfASource checks that credentials are hidden; options that only
// select the download, and texts too short to search for, are shown.
func TestSecretsOfASource(t *testing.T) {
	t.Parallel()
	group, name := "g", "j"
	task := &api.Task{Name: "t", Env: map[string]string{"KEY": "from the env"}}
	env := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, &api.Job{ID: &name, Name: &name}, &api.TaskGroup{Name: &group}, task).Build()
	for _, c := range []struct {
		source           string
		options, headers map[string]string
		want             []string // literally, in a query, in a path
	}{
		{source: "https://host/file?archive=tarball&checksum=sha256:0123&filename=name&depth=1000&ref=main"},
		{source: "https://host/file?flag&token=abc&=", options: map[string]string{"archive": "tarball"}},
		{source: "host/file?token=nowhere"},
		{
			source: "https://host/file?archive=tarball;token=one/two#key=three",
			want:   []string{"one/two", "one%2Ftwo", "one%2Ftwo", "one/two", "one%2Ftwo", "one%2Ftwo", "three", "three", "three", "three", "three", "three"},
		},
		{source: "git::https://user:word@host/repo", want: []string{"word", "word", "word", "word", "word", "word"}},
		{source: "https://token:@host/repo", want: []string{"token", "token", "token", "token", "token", "token"}},
		{
			source: "https://host/file", options: map[string]string{"sshkey": "c2VjcmV0", "ref": "main"}, headers: map[string]string{"X-Key": "${KEY}"},
			want: []string{"c2VjcmV0", "c2VjcmV0", "c2VjcmV0", "from the env", "from+the+env", "from%20the%20env"},
		},
	} {
		got := secretsOf(&api.TaskArtifact{GetterSource: new(""), GetterOptions: c.options, GetterHeaders: c.headers}, env, c.source)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.source, got, c.want)
		}
	}
}
