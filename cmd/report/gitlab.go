package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"taskrun/cmd/prose"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// CodeQualityFile is the usual name of a code quality report of GitLab.
const CodeQualityFile = "gl-code-quality-report.json"

// issue is an entry of a code quality report; see
// https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
type issue struct {
	Description string   `json:"description"`
	CheckName   string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines lines  `json:"lines"`
}

type lines struct {
	Begin int `json:"begin"`
}

// CodeQuality returns diagnostics as a code quality report of GitLab. Those
// without a place are at the beginning of the file, or left out if it is empty:
// GitLab refuses entries without a path. A fingerprint does not depend on the line,
// so that GitLab knows an issue again that has moved.
func CodeQuality(diagnostics jobspec.Diagnostics, file string, relative func(string) string) []byte {
	severities := map[jobspec.Severity]string{jobspec.Error: "critical", jobspec.Warning: "minor", jobspec.Notice: "info", jobspec.Hint: "info"}
	seen := map[string]int{}
	issues := []issue{}
	for _, d := range diagnostics {
		at, line := d.Range.File, d.Range.Start.Line
		if d.Range.IsZero() {
			at, line = file, 1
		}
		if at == "" {
			continue
		}
		i := issue{
			Description: prose.OneLine(all(d, "; ")), CheckName: "taskrun", Severity: severities[d.Severity],
			Location: location{visible.String(strings.TrimPrefix(relative(at), "./")), lines{max(1, line)}},
		}
		key := strings.Join([]string{i.Location.Path, i.Description}, "\x00")
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, seen[key]))
		i.Fingerprint = hex.EncodeToString(sum[:])
		issues = append(issues, i)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(issues) // strings and numbers can be encoded
	return b.Bytes()
}

// SectionStart returns the line that begins a section of a job log of GitLab, and
// SectionEnd the one that ends it. The name has letters, digits, "_", "." and "-".
func SectionStart(at time.Time, name, header string, collapsed bool) string {
	options := ""
	if collapsed {
		options = "[collapsed=true]"
	}
	return fmt.Sprintf("\x1b[0Ksection_start:%d:%s%s\r\x1b[0K%s\n", at.Unix(), name, options, prose.OneLine(header))
}

// SectionEnd ends the section with the name.
func SectionEnd(at time.Time, name string) string {
	return fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", at.Unix(), name)
}
