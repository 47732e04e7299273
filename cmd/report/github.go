package report

import (
	"slices"
	"strconv"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// Annotation returns a diagnostic as a workflow command of GitHub Actions, which
// shows it beside the file; see
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions.
// relative returns paths as they are in the repository.
func Annotation(d jobspec.Diagnostic, relative func(string) string) string {
	level := d.Severity.String()
	if d.Severity == jobspec.Hint {
		level = "notice" // the lowest level of GitHub
	}
	return command(level, place(d.Range, relative), all(d, "\n"))
}

// all returns all texts of a diagnostic.
func all(d jobspec.Diagnostic, separator string) string {
	return strings.Join(slices.DeleteFunc([]string{d.Summary, d.Detail, d.Remedy}, func(s string) bool { return s == "" }), separator)
}

// Annotation returns a workflow command that points at the first failure, or "" if
// the run succeeded or the user stopped it.
func (r *Run) Annotation(relative func(string) string) string {
	switch f := r.First; {
	case r.Result.ExitCode == 0, r.Result.User && f == nil:
		return ""
	case f != nil:
		return command("error", append(place(f.At, relative), "title="+property(visible.String(f.Title()))), r.message(f))
	}
	at := jobspec.Range{}
	if len(r.Jobs) > 0 {
		at = r.Place(r.Jobs[0].ID, "", "")
	}
	return command("error", place(at, relative), r.Verdict)
}

// message returns what an annotation says about a failure.
func (r *Run) message(f *Failure) string {
	bare := *f
	bare.At = jobspec.Range{} // GitHub shows the place
	return strings.TrimPrefix(bare.details()+"\n"+r.Verdict, "\n")
}

func command(level string, properties []string, message string) string {
	if len(properties) > 0 {
		level += " " + strings.Join(properties, ",")
	}
	return "::" + level + "::" + data(visible.Text(message))
}

// place returns the properties of a place.
func place(at jobspec.Range, relative func(string) string) []string {
	if at.IsZero() {
		return nil
	}
	return []string{
		"file=" + property(visible.String(relative(at.File))),
		"line=" + strconv.Itoa(at.Start.Line), "col=" + strconv.Itoa(at.Start.Column),
		"endLine=" + strconv.Itoa(at.End.Line), "endColumn=" + strconv.Itoa(at.End.Column),
	}
}

// data and property escape text so that it cannot end a workflow command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }
