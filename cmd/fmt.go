package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/textfile"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

type fmtOptions struct {
	check, diff, recursive bool
}

func newFmtCommand(a *app) *cobra.Command {
	var opts fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [FILE...]",
		Short: "Rewrite job files in the canonical style",
		Long: `Rewrite files in the canonical style of HCL, as "nomad fmt" does, and list those
that change. A file with errors stays as it is; the exit code is 2 then.

FILE is a file whose name ends in .hcl or .nomad, a folder (all such files in
it; the current one if there is no FILE), or - to format stdin to stdout.`,
		Example: `  taskrun fmt
  taskrun fmt --check --recursive .
  taskrun fmt --diff job.nomad.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error { return runFmt(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.check, "check", false, "write nothing, list the files that would change; the exit code is 1 if there are any")
	flags.BoolVar(&opts.diff, "diff", false, "show what would change, and write nothing")
	flags.BoolVar(&opts.recursive, "recursive", false, "format the files in subfolders too")
	return cmd
}

func runFmt(ctx context.Context, a *app, args []string, opts fmtOptions) error {
	f := formatter{app: a, opts: opts}
	switch {
	case slices.Equal(args, []string{"-"}):
		f.stdin()
	case slices.Contains(args, "-"):
		return exit.Usage("cannot format stdin (-) and files in one call")
	default:
		f.files(ctx, args)
	}
	f.PrintDiagnostics(f.faulty, f.diagnostics)
	switch {
	case f.err != nil:
		return f.err
	case f.diagnostics.HasErrors():
		return exit.Silent(verdict.Usage)
	case opts.check && f.changes:
		return exit.Silent(verdict.Failed)
	}
	return nil
}

// A formatter formats texts, and collects diagnostics and errors until the end.
type formatter struct {
	*app

	opts        fmtOptions
	changes     bool           // a text is not in the canonical style
	faulty      []jobfile.File // texts with diagnostics
	diagnostics jobspec.Diagnostics
	err         error // the error of reading or writing
}

func (f *formatter) stdin() {
	text, err := io.ReadAll(io.LimitReader(f.Streams.In, textfile.MaxSize))
	if err != nil {
		f.err = fmt.Errorf("cannot read stdin: %w", err)
		return
	}
	f.text("stdin", text, func(formatted []byte) error {
		_, err := f.Streams.Data().Write(formatted)
		return err
	})
}

func (f *formatter) files(ctx context.Context, args []string) {
	if len(args) == 0 {
		args = []string{"."}
	}
	found := textfile.Finder{Recursive: f.opts.recursive}
	for _, arg := range args {
		found.Add(arg)
	}
	f.diagnostics = found.Diagnostics
	for _, name := range found.Names {
		text, err := textfile.Read(name)
		if err != nil {
			f.diagnostics = append(f.diagnostics, jobspec.Diagnostic{Summary: fmt.Sprintf("cannot read %q: %v", name, err)})
			continue
		}
		f.text(name, text, func(formatted []byte) error {
			if bytes.Equal(text, formatted) {
				return nil
			}
			if err := textfile.Write(name, formatted); err != nil {
				return fmt.Errorf("cannot write %q: %w", name, err)
			}
			return f.list(name)
		})
		if ctx.Err() != nil {
			f.err = ctx.Err()
			return
		}
	}
}

// text formats one text and writes, lists or compares it, as the options say.
func (f *formatter) text(name string, text []byte, write func(formatted []byte) error) {
	formatted, diagnostics := jobspec.Format(jobspec.Source{Name: name, Text: text})
	if len(diagnostics) > 0 {
		f.diagnostics = append(f.diagnostics, diagnostics...)
		f.faulty = append(f.faulty, jobfile.File{File: &jobspec.File{Sources: map[string][]byte{name: text}}, Name: name})
		return
	}
	changes := !bytes.Equal(text, formatted)
	f.changes = f.changes || changes
	var err error
	switch {
	case f.opts.diff:
		unified := diff.Diff("a/"+name, text, "b/"+name, formatted)
		_, err = io.WriteString(f.Streams.Out, console.PaintDiff(f.Streams.OutStyle(f.Color), string(unified)))
	case f.opts.check && changes:
		err = f.list(name)
	case !f.opts.check:
		err = write(formatted)
	}
	f.err = errors.Join(f.err, err)
}

func (f *formatter) list(name string) error {
	_, err := fmt.Fprintln(f.Streams.Out, visible.String(name))
	return err
}
