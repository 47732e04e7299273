package answer

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Comparison is the result of comparing two runs.
type Comparison struct {
	A, B        Side
	List        []compare.Difference
	NotCompared []compare.Kind
}

// Side is one of the runs that were compared.
type Side struct {
	Name string
	Told string // how it ended, for people; may be empty
}

func (s Side) String() string { return strings.TrimSpace(s.Name + "  " + s.Told) }

// Different returns how many differences there are without a documented reason.
func (c Comparison) Different() (n int) {
	for _, d := range c.List {
		if d.Why == "" {
			n++
		}
	}
	return n
}

type difference struct {
	Job        string  `json:"job,omitempty"`
	Target     string  `json:"target,omitempty"` // GROUP[INDEX] or GROUP[INDEX]/TASK; empty: the run
	Generation int     `json:"generation"`       // of the allocation: 0 is the first one of its name
	Kind       string  `json:"kind"`
	Name       string  `json:"name,omitempty"`
	A          *string `json:"a"` // null: it has none
	B          *string `json:"b"`
	AMS        *int64  `json:"a_ms,omitempty"` // when it happened, since the start of the run
	BMS        *int64  `json:"b_ms,omitempty"`
	Path       string  `json:"path"`
	Why        string  `json:"why,omitempty"` // the documented reason; may be empty
}

type comparison struct {
	A           string         `json:"a"`
	B           string         `json:"b"`
	Differences int            `json:"differences"`
	Documented  int            `json:"documented"` // differences with a documented reason
	NotCompared []compare.Kind `json:"not_compared"`
}

// WriteComparison writes the differences of two runs: by task, or as one object
// each and one for the whole. In quiet mode it writes nothing.
func WriteComparison(to To, c Comparison) error {
	switch to.Mode {
	case ui.Plain:
		return write[any](to, "", nil, nil, func(out io.Writer) { writeComparison(out, to.style(), c) })
	case ui.JSON:
		if err := write(to, "difference", objects(c.List), nil, nil); err != nil {
			return err
		}
		different := c.Different()
		whole := comparison{c.A.Name, c.B.Name, different, len(c.List) - different, append([]compare.Kind{}, c.NotCompared...)}
		return write(to, "comparison", []comparison{whole}, nil, nil)
	default:
		return nil
	}
}

func objects(list []compare.Difference) []difference {
	items := make([]difference, 0, len(list))
	for _, d := range list {
		w := d.Where
		w.Job = ""
		items = append(items, difference{
			Job: d.Job, Target: w.Target(), Generation: d.Generation, Kind: string(d.Kind), Name: d.Name,
			A: d.A, B: d.B, AMS: milliseconds(d.AtA), BMS: milliseconds(d.AtB), Path: d.Path(), Why: d.Why,
		})
	}
	return items
}

func milliseconds(at time.Duration) *int64 {
	if at < 0 {
		return nil
	}
	return new(at.Milliseconds())
}

// differenceWriter writes differences: a sign, then what differs.
type differenceWriter struct {
	out   io.Writer
	style *ui.Style
}

func writeComparison(out io.Writer, style *ui.Style, c Comparison) {
	w := differenceWriter{out, style}
	if len(c.List) > 0 {
		w.line("-", c.A.String())
		w.line("+", c.B.String())
	}
	var last *compare.Where
	for _, d := range c.List {
		if last == nil || *last != d.Where {
			fmt.Fprintln(out, "\n"+style.Strong(heading(d.Where)))
			last = &d.Where
		}
		w.difference(d)
		if d.Why != "" {
			fmt.Fprintln(out, "      "+style.Quiet("documented: "+d.Why))
		}
	}
	if len(c.List) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, conclusion(c))
	if len(c.NotCompared) > 0 {
		var kinds []string
		for _, k := range c.NotCompared {
			kinds = append(kinds, plural(k))
		}
		fmt.Fprintln(out, style.Quiet("Not compared, because one of the runs does not have them: "+strings.Join(kinds, ", ")+"."))
	}
}

func conclusion(c Comparison) string {
	different := c.Different()
	documented := len(c.List) - different
	switch {
	case len(c.List) == 0:
		return "No differences."
	case documented == 0:
		return prose.Count(different, "difference") + "."
	case different == 0:
		return "No differences without a documented reason, " + fmt.Sprint(documented) + " with one."
	}
	return fmt.Sprintf("%s, and %d with a documented reason.", prose.Count(different, "difference"), documented)
}

// heading names a place for people.
func heading(w compare.Where) string {
	text := w.Target()
	switch {
	case text == "":
		text = "the run"
	case w.Generation > 0:
		text += fmt.Sprintf(", allocation %d of this name", w.Generation+1)
	}
	return text
}

func (w differenceWriter) difference(d compare.Difference) {
	label, multiline := label(d.Key), strings.Contains(text(d.A)+text(d.B), "\n")
	switch {
	case d.Kind == compare.Existence:
		if d.A != nil {
			w.line("  -", "only here: "+*d.A)
		} else {
			w.line("  +", "only here: "+*d.B)
		}
	case d.Kind == compare.TaskEvent:
		if d.A != nil {
			w.line("  -", w.at(d.AtA)+d.Name+": "+*d.A)
		}
		if d.B != nil {
			w.line("  +", w.at(d.AtB)+d.Name+": "+*d.B)
		}
	case d.A != nil && d.B != nil && multiline:
		w.line("  ~", label+":")
		w.lines(*d.A, *d.B)
	case d.A != nil && d.B != nil:
		w.line("  ~", label+": "+shown(d.Kind, *d.A)+" → "+shown(d.Kind, *d.B))
	case d.A != nil:
		w.line("  -", label+": "+shown(d.Kind, *d.A))
	default:
		w.line("  +", label+": "+shown(d.Kind, *d.B))
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shown quotes a value that may have any form.
func shown(kind compare.Kind, text string) string {
	if kind == compare.Variable || kind == compare.Output {
		return strconv.Quote(text)
	}
	return text
}

// lines writes the lines in which two texts differ, and those around them.
func (w differenceWriter) lines(a, b string) {
	text := string(diff.Diff("a", []byte(a), "b", []byte(b)))
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case i < 3 || line == "": // the names of the files
			continue
		case strings.HasPrefix(line, "@@"):
			w.line("     ", line)
			continue
		}
		w.line("      "+line[:1], line[1:])
	}
}

func (w differenceWriter) at(t time.Duration) string {
	if t < 0 {
		return ""
	}
	return fmt.Sprintf("%8s  ", t.Round(time.Millisecond))
}

func (w differenceWriter) line(sign, text string) {
	paint := paintOf(w.style, strings.TrimSpace(sign))
	fmt.Fprintln(w.out, paint(strings.TrimRight(sign+" "+visible.String(text), " ")))
}

// labels are kinds in words.
var labels = map[compare.Kind]string{
	compare.Health: "healthy", compare.Deployments: "deployment", compare.ExitCode: "exit code",
	compare.Variable: "environment", compare.Server: "server",
}

// label names a value for people.
func label(k compare.Key) string {
	word := labels[k.Kind]
	switch {
	case k.Kind == compare.Outcome, k.Kind == compare.Output:
		return strings.ReplaceAll(k.Name, "_", " ")
	case word == "":
		word = string(k.Kind)
	}
	if k.Name == "" || k.Kind == compare.Order {
		return word
	}
	return word + " " + k.Name
}

func plural(k compare.Kind) string {
	switch k {
	case compare.Health, compare.Output, compare.Outcome, compare.Order:
		return string(k)
	case compare.Server:
		return "values of servers"
	case compare.Command:
		return "answers to commands"
	case compare.Variable:
		return "environment variables"
	default:
		return strings.ReplaceAll(string(k), "_", " ") + "s"
	}
}
