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
)

// skew is by how much the time that the engine notes for a line may differ from
// that at which the line was read here: the engine does both at once.
const skew = 250 * time.Millisecond

// logLine is a line that the engine has kept.
type logLine struct {
	at   time.Time
	text string // without its end
}

// since is the time behind what was read, as the engine takes it; "" is the
// beginning. Around the time of the latest reading the lines decide.
func (t *task) since(ctx context.Context) string {
	last, tail := t.output.read()
	if last.IsZero() {
		return ""
	}
	if kept, err := t.kept(ctx, last.Add(-skew), last.Add(skew)); err == nil {
		if i := lastRead(kept, tail, last); i >= 0 {
			last = kept[i].at
		}
	}
	return logTime(last.Add(1))
}

func logTime(at time.Time) string { return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()) }

// kept returns the lines that the engine has kept from a time until another.
func (t *task) kept(ctx context.Context, from, until time.Time) (lines []logLine, err error) {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
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

// lastRead returns the index of the latest line that was read, by the tail of
// what was; -1 when that does not tell. Where lines repeat themselves it is the
// one that was kept closest to the time of the latest reading.
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
