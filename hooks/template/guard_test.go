package template

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	ct "github.com/hashicorp/consul-template/template"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/racetest"
)

// executed executes a template: unchanged, with the functions of the library
// except for loop, which leaks goroutines after a break; or instrumented, with
// those of the guard.
func executed(ctx context.Context, text, left, right string, instrumentIt bool) (string, *guard, error) {
	g := &guard{}
	g.begin(ctx)
	in, functions := instrumented{text: text}, map[string]any{"loop": g.functions()["loop"]}
	if instrumentIt {
		in, functions = instrument(text, left, right), g.functions()
	}
	t, err := ct.NewTemplate(&ct.NewTemplateInput{
		Contents: in.text, LeftDelim: left, RightDelim: right, ErrFatal: true,
		ExtFuncMap: functions, FunctionDenylist: denied,
	})
	if err != nil {
		return "", g, err
	}
	out, err := t.Execute(&ct.ExecuteInput{Brain: ct.NewBrain()})
	if err != nil {
		return in.original(err.Error()), g, err
	}
	return string(out.Output), g, nil
}

var renderedTheSame = []string{
	"", "text", "{{", "}}", "{{ }}", "{{/* a comment }} */}}x", "{{- /* trimmed */ -}} x",
	"a {{- 1 -}} b", "{{ range loop 3 -}}  x{{ . }}\n{{- end }}", "{{range $i, $e := loop 2 5}}{{$i}}={{$e}} {{else}}none{{end}}",
	"{{range 3}}{{.}}{{if eq . 1}}{{continue}}{{end}}-{{end}}", "{{range loop 9}}{{if eq . 3}}{{break}}{{else if eq . 1}}one{{else}}x{{end}}{{end}}",
	`{{"}}"}}{{'}'}}{{` + "`}} {{`" + `}}`, `{{ "a\"}}" | printf "%s-%s" (printf "%d" 3) }}`,
	`{{define "a"}}[{{.}}]{{end}}{{template "a" (printf "%s" "x")}}{{block "b" 1}}b{{.}}{{end}}`,
	`{{define "a"}}kept{{end}}{{define "a"}} {{/* empty */}}{{end}}{{template "a"}}`,
	`{{$x := 1}}{{$x = 2}}{{$x}}{{with $y := 5}}{{$y}}{{else with 3}}{{.}}{{end}}`, `{{nil}}`, `{{.}}`, `{{.a.b}}`,
	`{{$m := sprig_dict "a" 1}}{{$m.b}}{{$m.a}}{{$m}}{{index $m "a"}}{{len $m}}`, `{{scratch.Set "a" (printf "x")}}{{scratch.Get "a"}}`,
	`{{indent 2 "a\n\nb"}}{{replaceAll "a" "bb" "aXa"}}{{sprig_repeat 3 "ab"}}{{sprig_indent 1 "a\nb"}}{{sprig_nindent 1 "a"}}`,
	`{{sprig_until 3}}{{sprig_until -2}}{{sprig_untilStep 1 9 3}}{{sprig_untilStep 9 1 -4}}{{sprig_untilStep 1 5 0}}{{sprig_seq 3}}|{{sprig_seq -2}}|{{sprig_seq 2 4}}|{{sprig_seq 1 2 8}}|{{sprig_seq 4 1 1}}`,
	`{{sprig_untilStep 0 -3 -1}}{{sprig_untilStep 5 1 1}}|{{sprig_untilStep 1 5 -1}}|{{sprig_untilStep 2 2 1}}`,
	`{{join "-" (split "," "a,b")}}{{sprig_join "-" (sprig_list 1 "b" nil)}}{{sprig_join "-" "a"}}{{sprig_wrapWith 3 "|" "aa bb cccc"}}`,
	`{{regexReplaceAll "(a)b" "$1$1" "abab"}}{{sprig_regexReplaceAll "(a)b" "abab" "${1}c"}}{{sprig_mustRegexReplaceAllLiteral "a" "aa" "$1"}}`,
	`{{print 1 2 "a" "b" nil}}{{println 1 "a"}}{{html "<a>" 1}}{{"<" | js}}{{urlquery "a b" "&"}}{{sprig_cat "a" nil 2}}{{print}}`,
	`{{spew_sdump "a" 1 nil}}{{spew_sprintf "%v %+v %d" "a" 1.5 3}}`,
	`{{printf "%-5s|%05d|%.2f|%[1]q|%*d|%%" "x" 7 1.5 3 4}}{{regexReplaceAll "(" "a" "b"}}`,
	"{{range loop 2}}\n{{ end }}\n{{ printf \"%d\" (index nil 1) }}", "{{if true}}{{end}}{{end}}", "{{range}}", "{{(1)}}", "{{ true }}{{ 1.5 }}{{ 'a' }}{{ not true }}",
	"{{ 1 -}} \n x", "{{ 1\t-}} x", "{{ 1\r-}} x", "{{ 1\n-}} x", "{{ range loop 2\t-}} x{{ end }}", "{{ range loop 2\r-}} x{{ end }}", "{{ range loop 2\n-}} x{{ end }}",
	"{{ \"a\nb\" }}", "{{ \"a\\", "{{ 'a", "{{ `a\n`}}b", "{{ `a", "{{/* a", "{{/* a */", "{{ 1", "{{end}}", "{{else}}", "{{if 1}}{{end}}{{else}}", "{{1}}-}}", "{{-1}}", "{{- }}",
	"{{range loop \"2\"}}{{.}}{{end}}{{loop}}", "{{timestamp \"unix\" | printf \"%.1s\"}}", "{{- range $i := loop 2 -}}\n {{- $i -}} \n{{- end -}}",
}

// sameResult compares the result, or the error, of a template with and without
// instrumentation. It returns false if the guard has ended the template, which
// may not end without it.
func sameResult(ctx context.Context, t *testing.T, text, left, right string) bool {
	got, g, err := executed(ctx, text, left, right, true)
	if g.err() != nil {
		return false
	}
	want, _, plainErr := executed(t.Context(), text, left, right, false)
	if (err == nil) != (plainErr == nil) {
		t.Fatalf("%q: %v, want %v", text, err, plainErr)
	}
	if err == nil && got != want {
		t.Errorf("%q rendered %q, want %q", text, got, want)
	}
	if err != nil && position().FindString(got) != position().FindString(want) {
		t.Errorf("%q: %q, want %q", text, got, want)
	}
	return true
}

func TestInstrumentedTemplatesRenderTheSame(t *testing.T) {
	t.Parallel()
	for _, text := range renderedTheSame {
		for _, delims := range [][2]string{{"{{", "}}"}, {"[[", "]]"}, {"<", ">"}} {
			text := strings.NewReplacer("{{", delims[0], "}}", delims[1]).Replace(text)
			if !sameResult(t.Context(), t, text, delims[0], delims[1]) {
				t.Errorf("the guard has ended %q", text)
			}
		}
	}
}

// The delimiters that a template has without any are known, and those that could
// be a part of something else leave it as it is.
func TestDelimiters(t *testing.T) {
	t.Parallel()
	const text = "{{ 1 }}"
	want := instrument(text, "{{", "}}").text
	if want == text {
		t.Fatal("it is not instrumented")
	}
	for _, delims := range [][2]string{{"", ""}, {"", "}}"}, {"{{", ""}} {
		if got := instrument(text, delims[0], delims[1]).text; got != want {
			t.Errorf("%q: %q, want %q", delims, got, want)
		}
	}
	for _, odd := range []string{"_", "a", "7", "é", "€", " ", "(", ")", ".", "-", "/", "`", "'", `"`} {
		for _, delims := range [][2]string{{"[" + odd, "]]"}, {"[[", odd + "]"}} {
			text := delims[0] + " 1 " + delims[1]
			if got := instrument(text, delims[0], delims[1]).text; got != text {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

// Values and whole results have a limit, and the first failure is the reason.
func TestLimitsOfTheGuard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(*guard) error
		want string
	}{
		"a value":        {func(g *guard) error { return g.check(maxSize) }, ""},
		"a large value":  {func(g *guard) error { return g.check(maxSize + 1) }, "a value has more than 64 MiB"},
		"a result":       {func(g *guard) error { return errors.Join(g.write(maxSize-1), g.write(1)) }, ""},
		"a large result": {func(g *guard) error { return errors.Join(g.write(maxSize), g.write(1)) }, "it renders more than 64 MiB"},
		"large indents":  {func(g *guard) error { _, err := g.indent(1<<20, strings.Repeat("\n", 64)); return err }, "a value has more than 64 MiB"},
		"both":           {func(g *guard) error { return errors.Join(g.check(maxSize+1), g.write(maxSize+1)) }, "a value has more than 64 MiB"},
	} {
		g := &guard{}
		g.begin(t.Context())
		err := tt.do(g)
		if (err == nil) != (tt.want == "") || (g.err() == nil) != (tt.want == "") || g.err() != nil && g.err().Error() != tt.want {
			t.Errorf("%s: %v, %v, want %q", name, err, g.err(), tt.want)
		}
	}
}

// A number is below its limit, so the lowest limit allows none.
func TestRandomNumbers(t *testing.T) {
	t.Parallel()
	g := &guard{below: func(limit int) int { return limit - 1 }}
	for _, c := range []struct{ least, limit, want int }{{5, 6, 5}, {5, 9, 8}, {-3, 0, -1}} {
		if got, err := g.randInt(c.least, c.limit); got != c.want || err != nil {
			t.Errorf("from %d to below %d: %d, %v", c.least, c.limit, got, err)
		}
	}
	for _, limit := range []int{5, 4} {
		if n, err := g.randInt(5, limit); err == nil || err.Error() != fmt.Sprintf("there is no number from 5 to below %d", limit) {
			t.Errorf("below %d: %d, %v", limit, n, err)
		}
	}
}

// The library's untilStep would overflow here, and never end.
func TestStepsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{sprig_untilStep 0 9223372036854775807 9223372036854775806}}`:   "[0 9223372036854775806]",
		`{{sprig_untilStep 0 -9223372036854775807 -9223372036854775806}}`: "[0 -9223372036854775806]",
	} {
		if got, _, err := executed(t.Context(), text, "{{", "}}", true); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzInstrument(f *testing.F) {
	for _, text := range renderedTheSame {
		f.Add(text, "{{", "}}")
		f.Add(strings.NewReplacer("{{", "[%", "}}", "%]").Replace(text), "[%", "%]")
	}
	f.Fuzz(func(t *testing.T, text, left, right string) {
		if strings.Contains(text, "timestamp") || strings.Contains(text, "env") || strings.Contains(text, "uuid") {
			t.Skip("it differs from one time to the next")
		}
		if len(text) > 2000 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		sameResult(ctx, t, text, left, right)
	})
}

// TestEndlessTemplatesEndWithTheirContext executes templates that would run for
// hours.
func TestEndlessTemplatesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{{ range loop 1000000000000 }}{{ end }}",
		"{{ range 1000000000000 }}{{ end }}",
		"{{- range $i := loop 1000000000000 -}} {{- end -}}",
		"{{ range loop 1000000 }}{{ range loop 1000000 }}{{ if false }}x{{ end }}{{ end }}{{ end }}",
		"{{ range loop 1000000000000 }}{{ continue }}{{ end }}",
		`{{ define "a" }}{{ if lt . 60 }}{{ template "a" (add . 1) }}{{ template "a" (add . 1) }}{{ end }}{{ end }}{{ template "a" 0 }}`,
		`{{ range loop 1000000000000 }}{{ $x := 1 }}{{ else }}y{{ end }}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, g, _ := executed(ctx, text, "{{", "}}", true)
			ended <- g.err()
		}()
		select {
		case err := <-ended:
			if err == nil || ctx.Err() == nil {
				t.Errorf("%s: ended with %v", text, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it does not end", text)
		}
		cancel()
	}
}

// TestLargeTemplatesAreRefused executes templates that would exhaust the
// memory.
func TestLargeTemplatesAreRefused(t *testing.T) {
	// Not parallel: it measures memory.
	if racetest.Enabled {
		t.Skip("the race detector makes it slow, and needs memory of its own")
	}
	for _, text := range []string{
		`{{ sprig_repeat 1000000000000 "x" }}`,
		`{{ sprig_until 1000000000000 }}`,
		`{{ sprig_untilStep 0 1000000000000 1 }}`,
		`{{ sprig_seq 1000000000000 }}`,
		`{{ sprig_untilStep -9223372036854775807 9223372036854775807 1 }}`,
		`{{ sprig_untilStep 9223372036854775807 -9223372036854775807 -1 }}`,
		`{{ sprig_join (sprig_repeat 10000000 "x") (sprig_until 1000) }}`,
		`{{ join (sprig_repeat 10000000 "x") (sprig_splitList "" (sprig_repeat 1000 "y")) }}`,
		`{{ sprig_wrapWith 1 (sprig_repeat 10000000 "x") (sprig_repeat 10000 "y ") }}`,
		`{{ regexReplaceAll "x" (sprig_repeat 10000 "y") (sprig_repeat 100000 "x") }}`,
		`{{ sprig_regexReplaceAll ".+" (sprig_repeat 200000 "x") (sprig_repeat 1000 "$0") }}`,
		`{{ sprig_mustRegexReplaceAllLiteral "x" (sprig_repeat 100000 "x") (sprig_repeat 10000 "y") }}`,
		`{{ printf (sprig_repeat 1000 "%[1]s") (sprig_repeat 10000000 "x") }}`,
		`{{ printf (sprig_repeat 10000 "%999999d") 1 }}`,
		`{{ printf (sprig_repeat 10000 "%[1]*[1]d") 999999 }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ print` + strings.Repeat(" $x", 1000) + ` }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ html` + strings.Repeat(" $x", 1000) + ` }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ sprig_cat` + strings.Repeat(" $x", 1000) + ` }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ spew_sdump` + strings.Repeat(" $x", 1000) + ` }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ spew_sprintf "%v"` + strings.Repeat(" $x", 1000) + ` }}`,
		`{{ spew_sprintf (sprig_repeat 10000 "%999999d") 1 }}`,
		`{{ indent 1000000000000 "x" }}`,
		`{{ sprig_nindent 1000000000000 "x" }}`,
		`{{ $x := sprig_repeat 10000000 "x" }}{{ replaceAll "x" $x $x }}`,
		`{{ range loop 1000000000000 }}` + strings.Repeat("some text", 1000) + `{{ end }}`,
		`{{ range loop 1000000000000 }}{{ printf "%09999d" . }}{{ end }}`,
		`{{ $x := "x" }}{{ range loop 100 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`,
		`{{ range loop 100 }}{{ scratch.Set "x" (printf "%s%s" (scratch.Get "x") "12345678") }}{{ scratch.Set "x" (printf "%s%s" (scratch.Get "x") (scratch.Get "x")) }}{{ end }}`,
		`{{ $x := sprig_list 1 2 }}{{ range loop 100 }}{{ $x = sprig_list $x $x }}{{ end }}{{ $x }}`,
		`{{ $x := sprig_dict }}{{ $_ := sprig_set $x "x" $x }}{{ $x }}`,
		`{{ $x := sprig_repeat 1000000 "x" }}{{ range loop 1000 }}{{ $x }}{{ end }}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, g, err := executed(t.Context(), text, "{{", "}}", true)
		runtime.ReadMemStats(&after)
		if err == nil || g.failure == nil || !strings.Contains(g.failure.Error(), "64 MiB") {
			t.Errorf("%s: %v, %v", text, err, g.failure)
		}
		if used := (after.HeapSys - min(before.HeapSys, after.HeapSys)) >> 20; used > 1000 {
			t.Errorf("%s: %d MiB", text, used)
		}
	}
}

// TestHostileFilesAreRefused lets a task give the function file everything that
// would block its reader or exhaust the memory.
func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(name string) error
		want string
	}{
		"FIFO": {func(name string) error { return syscall.Mkfifo(name, 0o666) }, "not a regular file"},
		"sparse file": {func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 1<<30)
		}, "larger than 64 MiB"},
		"directory": {func(name string) error { return os.Mkdir(name, 0o700) }, "not a regular file"},
		"link out":  {func(name string) error { return os.Symlink("/etc/passwd", name) }, "outside"},
		"device":    {func(name string) error { return os.Symlink("/dev/zero", name) }, "outside"},
	} {
		for _, source := range []bool{false, true} {
			tmpl := file(`{{ file (printf "%s/in" (env "NOMAD_TASK_DIR")) }}`)
			if source {
				tmpl = file("", func(t *api.Template) { t.SourcePath, t.EmbeddedTmpl = new("local/in"), new("") })
			}
			s := newSetting(t, "", tmpl)
			if err := tt.make(filepath.Join(s.task.AllocDir, "t", "local", "in")); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.start(Config{}) }()
			select {
			case err := <-ended:
				text := strings.Join(s.control.take(), "\n")
				if err != nil {
					text += err.Error()
				}
				if !strings.Contains(text, tt.want) && !strings.Contains(text, "escapes") {
					t.Errorf("%s: %q, want %q", name, text, tt.want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: it blocks", name)
			}
			s.stop()
		}
	}
}
