package record

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/history"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/redact"
)

// minSecret is the length of the shortest value that is hidden, in bytes.
const minSecret = 6

// Export says what to export of a run.
type Export struct {
	Version string    // of taskrun
	Now     time.Time // the time of the export
	// Secrets are values that are hidden wherever taskrun itself says something.
	Secrets []string
	// Output and Environment tell whether to include what tasks printed, and their
	// environments.
	Output, Environment bool
}

// Contents are the contents of an export.
type Contents struct {
	Events      int
	Job         bool
	Environment bool
	Outputs     int   // that are not empty
	OutputBytes int64 // of all of them
}

// Write writes a run to a file that Open opens. It streams: a long run needs no more
// memory than a short one.
func (x *Export) Write(w io.Writer, r *Run) (c Contents, err error) {
	out := &countingWriter{to: w}
	z := zip.NewWriter(out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	e := &exporter{Export: x, zip: z, run: r, clean: redact.Values(x.Secrets, minSecret, redact.Hidden)}
	err = errors.Join(e.write(), z.Close())
	if err == nil && out.written > maxArchive {
		err = fmt.Errorf("the file would be larger than %s", event.Size(maxArchive))
	}
	return e.contents, err
}

// countingWriter counts bytes, and refuses more than an exported run may have.
type countingWriter struct {
	to      io.Writer
	written int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if w.written += int64(len(p)); w.written > maxArchive {
		return 0, fmt.Errorf("the file would be larger than %s", event.Size(maxArchive))
	}
	return w.to.Write(p)
}

type exporter struct {
	*Export
	zip      *zip.Writer
	run      *Run
	clean    func(string) string
	contents Contents
}

func (e *exporter) write() error {
	r := e.run
	err := e.object(manifestFile, manifest{
		Format: format, Taskrun: e.Version, Job: r.Job, ID: r.ID, Live: r.Live && r.Summary == nil,
		Exported: e.Now.UTC(), NoOutput: !e.Output,
	})
	if err == nil && r.Summary != nil {
		err = e.object(source.SummaryFile, e.summary(*r.Summary))
	}
	for _, step := range []func() error{e.job, e.events, e.environment, e.outputs} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// summary removes secrets from a summary, and the output of tasks if the export has
// none.
func (e *exporter) summary(s view.Summary) view.Summary {
	s.Cause, s.Reason = e.clean(s.Cause), e.clean(s.Reason)
	if s.FirstFailure == nil {
		return s
	}
	failure := *s.FirstFailure
	if failure.Message = e.clean(failure.Message); !e.Output {
		failure.LastOutput = ""
	}
	s.FirstFailure = &failure
	return s
}

func (e *exporter) create(name string) (io.Writer, error) {
	return e.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: e.Now.UTC()})
}

func (e *exporter) object(name string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = e.file(name, append(text, '\n'))
	}
	return err
}

func (e *exporter) file(name string, text []byte) error {
	w, err := e.create(name)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// job writes the job without its secrets.
func (e *exporter) job() error {
	j, err := e.run.Spec()
	if j == nil || err != nil {
		return err
	}
	text, err := redact.Job(j, e.clean)
	if err != nil {
		return err
	}
	e.contents.Job = true
	return e.file(specFile, text)
}

// events writes the events that can be read, with their numbers.
func (e *exporter) events() error {
	w, err := e.create(history.File)
	if err != nil {
		return err
	}
	var size int64
	for ev, err := range e.run.Events() {
		if err != nil {
			return err
		}
		line, err := e.scrub(ev).Line(ev.Seq)
		if err != nil {
			return err
		}
		if size += int64(len(line)); size > maxEvents {
			return fmt.Errorf("the events of the run are larger than %s", event.Size(maxEvents))
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		e.contents.Events++
	}
	return nil
}

// scrub removes secrets from an event, and the output of tasks if the export has
// none.
func (e *exporter) scrub(ev event.Event) event.Event {
	switch b := ev.Body.(type) {
	case event.TaskEvent:
		said := *b.TaskEvent
		said.DisplayMessage, said.Details = e.clean(b.DisplayMessage), make(map[string]string, len(b.Details))
		for name, value := range b.Details {
			said.Details[name] = e.clean(value)
		}
		ev.Body = event.TaskEvent{TaskEvent: &said}
	case event.AllocStatus:
		b.Description = e.clean(b.Description)
		ev.Body = b
	case event.Deployment:
		b.Description = e.clean(b.Description)
		ev.Body = b
	case event.Check:
		b.Output, b.Target = e.clean(b.Output), e.clean(b.Target)
		if !e.Output {
			b.Output = ""
		}
		ev.Body = b
	case event.Notice:
		ev.Body = event.Notice{Text: e.clean(b.Text)}
	}
	return ev
}

// environment writes the environments of tasks as they are kept, if that is wanted.
func (e *exporter) environment() error {
	if !e.Environment {
		return nil
	}
	f, err := e.run.File(EnvironmentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := e.create(EnvironmentFile)
	if err == nil {
		_, err = io.Copy(w, f)
	}
	e.contents.Environment = err == nil
	return err
}

// outputs writes what tasks have printed, with times.
func (e *exporter) outputs() error {
	if !e.Output {
		return nil
	}
	tasks, err := e.run.Tasks()
	if err != nil {
		return err
	}
	for _, t := range tasks {
		for _, stream := range event.Streams {
			if err := e.output(t, stream); err != nil {
				return fmt.Errorf("cannot export %s of task %q: %w", stream, t.Name, err)
			}
		}
	}
	return nil
}

func (e *exporter) output(t *client.Task, stream event.Stream) error {
	from, err := t.Open(context.Background(), client.Log{Stream: stream, Tail: -1}) // stored output is there already
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	name := outputName(t.Alloc.ID, t.Name, stream)
	var (
		buf    = make([]byte, 64<<10)
		w      io.Writer
		offset int64
		at     stampList
	)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if w == nil {
				created, err := e.create(name)
				if err != nil {
					return err
				}
				w = created
			}
			at.add(offset, from.Time())
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			offset += int64(n)
			if e.contents.OutputBytes += int64(n); e.contents.OutputBytes > maxContents/2 {
				return fmt.Errorf("the output of all tasks is larger than %s", event.Size(maxContents/2))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	e.contents.Outputs++
	return e.file(name+timesSuffix, at.text())
}

// stampList are the times of an output. It keeps a limited number of them: with many
// it becomes coarser.
type stampList struct {
	list []stampOf
	step time.Duration
}

type stampOf struct {
	offset int64
	at     time.Time
}

// maxStamps is the maximum number of times of an output.
const maxStamps = 1 << 16

func (s *stampList) add(offset int64, at time.Time) {
	if n := len(s.list); n > 0 && at.Sub(s.list[n-1].at).Abs() < max(s.step, 1) {
		return
	}
	if len(s.list) == maxStamps {
		for i := range maxStamps / 2 {
			s.list[i] = s.list[2*i]
		}
		s.list = s.list[:maxStamps/2]
		s.step = max(2*s.step, time.Millisecond)
	}
	s.list = append(s.list, stampOf{offset, at})
}

func (s *stampList) text() (text []byte) {
	for _, one := range s.list {
		text = fmt.Appendf(text, "%d %d\n", one.offset, one.at.UnixNano())
	}
	return text
}
