package jobtest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/jobtest"
)

func TestFind(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{
		"b.nomadtest.hcl", "a.nomadtest.hcl", "a.nomad.hcl", "tests/c.nomadtest.hcl", "deep/d.nomadtest.hcl", "empty/x.hcl",
		"folder.nomadtest.hcl/e.nomadtest.hcl", "only/tests/f.nomadtest.hcl",
	} {
		files[name] = ""
	}
	dir := write(t, files)
	for paths, want := range map[string]struct {
		files      []string
		diagnostic string
	}{
		"":                                {[]string{"a.nomadtest.hcl", "b.nomadtest.hcl", "tests/c.nomadtest.hcl"}, ""},
		"tests":                           {[]string{"tests/c.nomadtest.hcl"}, ""},
		"only":                            {[]string{"only/tests/f.nomadtest.hcl"}, ""},
		"deep/d.nomadtest.hcl .":          {[]string{"deep/d.nomadtest.hcl", "a.nomadtest.hcl", "b.nomadtest.hcl", "tests/c.nomadtest.hcl"}, ""},
		"a.nomadtest.hcl a.nomadtest.hcl": {[]string{"a.nomadtest.hcl"}, ""},
		"folder.nomadtest.hcl":            {[]string{"folder.nomadtest.hcl/e.nomadtest.hcl"}, ""},
		"a.nomad.hcl":                     {nil, "its name does not end in .nomadtest.hcl"},
		"none":                            {nil, "there is no such file or folder"},
		"empty":                           {nil, "there is no test file in"},
	} {
		var args []string
		for p := range strings.FieldsSeq(paths) {
			args = append(args, filepath.Join(dir, p))
		}
		if args == nil {
			args = []string{dir}
		}
		files, diagnostics := jobtest.Find(args)
		for i, f := range files {
			files[i], _ = filepath.Rel(dir, f)
		}
		if diff := cmp.Diff(want.files, files); diff != "" {
			t.Errorf("%q: %s", paths, diff)
		}
		if text := diagnostics.Error(); (text != "") != (want.diagnostic != "") || !strings.Contains(text, want.diagnostic) {
			t.Errorf("%q: %q", paths, text)
		}
	}
}
