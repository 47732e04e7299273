package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error is found on the platform that has it, in code and in tests.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module m\n\ngo 1.26.0\n",
		"m.go":             "package m\n\nimport _ \"os/exec\"\n\nvar _ int = f()\n",
		"m_linux.go":       "package m\n\nfunc f() int { return 0 }\n",
		"m_darwin.go":      "package m\n\nfunc f() string { return \"\" }\n",
		"m_test.go":        "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { g(t) }\n",
		"m_linux_test.go":  "package m\n\nimport \"testing\"\n\nfunc g(*testing.T) {}\n",
		"m_darwin_test.go": "package m\n\nfunc h() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string][]string{
		"linux/arm64":  nil,
		"darwin":       {"a platform is GOOS/GOARCH"},
		"darwin/z80":   {"unsupported GOOS/GOARCH pair darwin/z80"},
		"darwin/arm64": {"m.go:5:13: cannot use f()", "m_test.go:5:27: undefined: g"},
	} {
		errs := check(dir, platform)
		if len(errs) != len(want) {
			t.Errorf("%s: %v, want %q", platform, errs, want)
			continue
		}
		for i, err := range errs {
			if !strings.Contains(err.Error(), want[i]) {
				t.Errorf("%s: %v, want %q", platform, err, want[i])
			}
		}
	}
	if errs := check(t.TempDir(), "linux/arm64"); len(errs) != 1 {
		t.Errorf("%v, want one error without a module", errs)
	}
}
