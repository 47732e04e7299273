package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// skew is how much the engine's timestamp of a line may differ from the time at
// which the line was read here: the engine logs and sends a line at once.
const skew = 250 * time.Millisecond

// attach copies the output of the container from now on.
func (t *task) attach(ctx context.Context) error {
	stream, err := t.cli.ContainerAttach(ctx, t.container, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	t.output.copy(stream.Conn, stream.Reader, t.tty)
	return nil
}

// resume continues to copy after the stream broke, from the log that the engine
// keeps.
func (t *task) resume() {
	if t.mute {
		return
	}
	t.output.finish(0)
	since, read := t.since(t.interest)
	ctx, cancel := context.WithCancel(t.interest)
	open := func() (io.Reader, error) {
		logs, err := t.cli.ContainerLogs(ctx, t.container, client.ContainerLogsOptions{
			ShowStdout: true, ShowStderr: true, Follow: true, Since: since,
		})
		if err != nil && ctx.Err() == nil {
			t.events.Tell(t.cfg, drivers.TaskEvent{Message: "The output of the task is lost from here on", Err: err})
		}
		return logs, err
	}
	t.output.skip = read
	logs := &lateReader{open: open, cancel: cancel}
	t.output.copy(logs, logs, t.tty)
}

// lateReader opens a stream at the first read. Podman answers a request for a log
// only when there is a line, which may be never.
type lateReader struct {
	open   func() (io.Reader, error)
	stream io.Reader
	cancel context.CancelFunc // of the request
}

func (l *lateReader) Read(p []byte) (n int, err error) {
	if l.stream == nil {
		if l.stream, err = l.open(); err != nil {
			return 0, err
		}
	}
	return l.stream.Read(p)
}

// Close ends the request, also while it has no answer.
func (l *lateReader) Close() error {
	l.cancel()
	return nil
}

// logLine is a line of the engine's log.
type logLine struct {
	at   time.Time
	text string // without its end
}

// since returns where a request to the engine continues: a time ("" is the
// beginning), and the number of lines after it that were read already. It compares
// lines with timestamps around the last read with the output that was read, and
// counts them, because the timestamps that Podman shows are whole seconds.
func (t *task) since(ctx context.Context) (from string, read int) {
	last, tail := t.output.read()
	if last.IsZero() {
		return "", 0
	}
	begin := last.Add(-skew)
	if kept, err := t.kept(ctx, begin, last.Add(skew)); err == nil {
		if i := lastRead(kept, tail, last); i >= 0 {
			return logTime(begin), i + 1
		}
	}
	return logTime(last.Add(1)), 0
}

func logTime(at time.Time) string { return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()) }

// kept returns the lines of the engine's log between two times.
func (t *task) kept(ctx context.Context, from, until time.Time) (lines []logLine, err error) {
	ctx, cancel := context.WithTimeout(ctx, daemon.ReplyTime)
	defer cancel()
	logs, err := t.cli.ContainerLogs(ctx, t.container, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Since: logTime(from), Until: logTime(until),
	})
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	var text bytes.Buffer
	if t.tty {
		_, err = io.Copy(&text, logs)
	} else {
		_, err = stdcopy.StdCopy(&text, &text, logs)
	}
	if err != nil {
		return nil, err
	}
	for entry := range strings.Lines(text.String()) {
		stamp, line, _ := strings.Cut(entry, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return nil, err
		}
		lines = append(lines, logLine{at, strings.TrimSuffix(line, "\n")})
	}
	return lines, nil
}

// lastRead returns the index of the last line that was read, which ends the tail;
// -1 if no line does. If several do, it is the one closest to the time of the
// last read.
func lastRead(kept []logLine, tail string, last time.Time) (found int) {
	whole := strings.LastIndexByte(tail, '\n')
	if whole < 0 {
		return -1
	}
	read := strings.Split(tail[:whole], "\n")
	found = -1
	var apart time.Duration
	for i := range kept {
		n := min(i+1, len(read))
		matches := slices.EqualFunc(kept[i+1-n:i+1], read[len(read)-n:], func(k logLine, r string) bool { return k.text == r })
		if d := kept[i].at.Sub(last).Abs(); matches && (found < 0 || d < apart) {
			found, apart = i, d
		}
	}
	return found
}
