package jobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// reader reads the text of one test file.
type reader struct {
	file *File

	scope *evaluate.Scope
	diags hcl.Diagnostics
}

func (r *reader) refuse(at hcl.Range, summary, detail, remedy string) {
	r.diags = append(r.diags, diagnostic.Error(at, summary, detail, remedy))
}

func (r *reader) twice(at hcl.Range, what string, first hcl.Range) {
	r.refuse(at, what, fmt.Sprintf("the first is on line %d", first.Start.Line), "remove or rename one of them")
}

// unknown reports a word that is not one of the known ones.
func (r *reader) unknown(at hcl.Range, what, word string, known []string) {
	r.refuse(at, fmt.Sprintf("unknown %s %q", what, word), "it may be "+strings.Join(known, ", "), diagnostic.DidYouMean(word, known))
}

func (r *reader) notNegative(d time.Duration, at hcl.Range, name string) {
	if d < 0 {
		r.refuse(at, fmt.Sprintf("%q is negative", name), fmt.Sprintf("it is %v", d), `write one such as "30s"`)
	}
}

// existing returns the path of a file that the test file names, if there is one.
func (r *reader) existing(name string, at hcl.Range, kind string) string {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.file.dir(), path)
	}
	info, err := os.Stat(path)
	switch {
	case name == "":
		r.refuse(at, fmt.Sprintf("the name of the %s is empty", kind), "", "name a file, or leave it out")
	case errors.Is(err, fs.ErrNotExist):
		r.refuse(at, fmt.Sprintf("there is no %s %q", kind, path), "the path is relative to the test file", diagnostic.SimilarFile(path, name))
	case err != nil:
		r.refuse(at, fmt.Sprintf("cannot use the %s %q", kind, path), diagnostic.Bare(err).Error(), "")
	case !info.Mode().IsRegular():
		r.refuse(at, fmt.Sprintf("cannot use the %s %q", kind, path), "it is not a regular file", "")
	default:
		return path
	}
	return ""
}
