package java

import (
	"os"
	"path/filepath"
	"strings"
)

// versionOf returns the version in the file "release" (JEP 220) of the Java that a
// program belongs to, or "".
func versionOf(program string) string {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(version, `"`)
		}
	}
	return ""
}
