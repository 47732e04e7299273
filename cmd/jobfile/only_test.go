package jobfile_test

import (
	"errors"
	"testing"

	"taskrun/cmd/jobfile"
)

// Without names the only job file of the folder is meant.
func TestOnlyJobFile(t *testing.T) { //nolint:paralleltest // it changes the directory
	for _, tt := range []struct {
		files     []string
		want, err string
	}{
		{nil, "", "no job file: name one, the folder holds no *.nomad.hcl, *.nomad or job.hcl"},
		{[]string{"other.hcl"}, "", "no job file: name one, the folder holds no *.nomad.hcl, *.nomad or job.hcl"},
		{[]string{"other.hcl", "job.hcl"}, "job.hcl", ""},
		{[]string{"web.nomad"}, "web.nomad", ""},
		{[]string{"web.nomad.hcl", "folder.nomad/x"}, "web.nomad.hcl", ""},
		{[]string{"web.nomad.hcl", "job.hcl", "a.nomad"}, "", "no job file: name one, the folder holds a.nomad, job.hcl, web.nomad.hcl"},
	} {
		all := map[string]string{}
		for _, name := range tt.files {
			all[name] = named("web")
		}
		in := write(t, all)
		t.Chdir(in(""))
		files, _, err := jobfile.Read(t.Context(), nil, nil, nil, jobfile.Options{})
		var wrong *jobfile.CallError
		switch {
		case tt.err != "" && (!errors.As(err, &wrong) || wrong.Text != tt.err || files != nil):
			t.Errorf("%q: %v, %v", tt.files, files, err)
		case tt.err == "" && (err != nil || len(files) != 1 || files[0].Name != tt.want):
			t.Errorf("%q: %v, %v", tt.files, files, err)
		}
	}
}
