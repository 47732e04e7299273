package jobtest

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"taskrun/jobspec/diagnostic"
)

// Place is where something is. Its zero parts were not written.
type Place struct {
	Group  string
	Index  int // of the allocation in its group
	Number int // of the allocation among those of that name, from 1; 0: the latest
	Task   string
}

// Alloc returns the name of the allocation as tests write it.
func (p Place) Alloc() string { return fmt.Sprintf("%s[%d]", p.Group, p.Index) }

// A NameError is a name that does not exist, or is not clear.
type NameError struct{ Summary, Detail, Remedy string }

func (e *NameError) Error() string {
	text := e.Summary
	for _, more := range []string{e.Detail, e.Remedy} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

// written is GROUP[INDEX]#NUMBER; the brackets and the number may be missing.
var written = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\[\]#/]+)(\[(\d{1,6})\])?(#(\d{1,6}))?$`)
})

func did(text string, known []string) string { return diagnostic.DidYouMean(text, known) }

func unknown(what, text string, known []string) *NameError {
	e := &NameError{Summary: fmt.Sprintf("there is no %s %q", what, text), Remedy: did(text, known)}
	if e.Remedy == "" && len(known) > 0 && len(known) <= 6 {
		e.Detail = "there is " + strings.Join(known, ", ")
	}
	return e
}
