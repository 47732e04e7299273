package recording

import (
	"maps"
	"regexp"
	"strings"
	"sync"
)

// Patterns of what differs from run to run.
var (
	delay   = once(`restarting in [0-9.a-zµ]+`)
	dirs    = once(`[^\s"=]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/`)
	ids     = once(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	cutID   = once(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{0,2}N[0-9a-f]{0,2}`) // with ten digits that a job has replaced by N
	shortID = once(`SHORT_ALLOC_ID=[0-9a-f]{8}`)
	ports   = once(`\b[0-9]{5}\b`)
	times   = once(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	numbers = once(`("(?:Create|Modify)(?:Index|Time)": )\d+`)
	child   = once(`\b(dispatch|periodic)-\d{10}(-[0-9a-f]{8})?`) // a child of another job
	launch  = once(`(?m)^Approximate next launch time: .*\n?`)
	evalID  = once(`(Evaluation ID *[:=] )\S+`)
	webUI   = once(`\n\n==> View [^\n]*\n`)
	sizes   = once(`\b[0-9.]+ (?:[KMG]i)?B +`)                        // of directories, in a table
	request = once(`(?m)^.*\[\d+/\w+/\d+ [\d:]+\] "GET /health.*\n?`) // of a check
)

func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// launching is the start of the message of a failed start, after which Nomad
// writes the words of its own inner call.
const launching = "failed to launch command with executor: "

// normalEvent removes everything from an event that differs from run to run.
func normalEvent(e Event) Event {
	e.Message = delay().ReplaceAllStringFunc(e.Message, func(s string) string {
		if s == "restarting in 0s" {
			return s
		}
		return "restarting in DELAY"
	})
	details := maps.Clone(e.Details)
	if d := details["start_delay"]; d != "" && d != "0" {
		details["start_delay"] = "DELAY"
	}
	if e.Type == "Driver Failure" && strings.HasPrefix(e.Message, launching) {
		e.Message, details = launching, nil
	}
	e.Details = details
	return e
}

// normalOutput removes IDs, directories, times, ports and the last line end
// from a text.
func normalOutput(s string) string {
	if strings.HasPrefix(s, "<HTTP Error 404") { // there was no file
		return ""
	}
	s = request().ReplaceAllString(s, "") // their number depends on timing
	s = webUI().ReplaceAllString(s, "")
	s = dirs().ReplaceAllString(s, "DIR/")
	s = ids().ReplaceAllString(s, "ID")
	s = cutID().ReplaceAllString(s, "U") // in the form in which the same job writes others
	s = launch().ReplaceAllString(s, "")
	s = child().ReplaceAllString(s, "$1-ID")
	s = evalID().ReplaceAllString(s, "${1}ID")
	s = shortID().ReplaceAllString(s, "SHORT_ALLOC_ID=ID")
	s = sizes().ReplaceAllString(s, "SIZE  ")
	s = times().ReplaceAllString(s, "TIME")
	s = numbers().ReplaceAllString(s, "${1}N")
	s = strings.ReplaceAll(s, "\r\n", "\n") // as recorded
	return ports().ReplaceAllString(strings.TrimSuffix(s, "\n"), "PORT")
}

// normalTrace sorts the lines of a trace: a poststart task starts when the main
// task is running, possibly before the main task has written its first line.
func normalTrace(s string) string {
	if strings.HasSuffix(s, "no such file or directory") {
		return ""
	}
	return strings.Replace(s, "post start\nmain start\n", "main start\npost start\n", 1)
}
