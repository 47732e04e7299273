package outcome

import (
	"strconv"
	"strings"

	"taskrun/engine/fold"
)

// awaited names what a task waits for, as in `main tasks "a", "b"`.
func awaited(w fold.Wait) string {
	what := ""
	switch w.For {
	case fold.ItsStart:
		return "its start"
	case fold.ItsRestart:
		return "its restart"
	case fold.PrestartEnd:
		what = "the end of prestart task"
	case fold.SidecarStart:
		what = "the start of prestart sidecar"
	case fold.MainStart:
		what = "the start of main task"
	}
	if len(w.Tasks) > 1 {
		what += "s"
	}
	quoted := make([]string, len(w.Tasks))
	for i, name := range w.Tasks {
		quoted[i] = strconv.Quote(name)
	}
	return what + " " + strings.Join(quoted, ", ")
}
