package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Files in the directory of a run, in addition to those of the engine.
const (
	SummaryFile = "summary.json" // how the run ended
	LogFile     = "taskrun.log"  // messages of a run in the background
)

// Detail selects the events that Follow publishes.
type Detail int

// Values of Detail.
const (
	All     Detail = iota
	Events         // no output
	Outputs        // no events; see Want, Tail and Since
	End            // nothing
)

// Directory is a run of another process of this machine. It reads events and output
// from the files of the run, which outlive an engine. The engine only announces when
// there are more.
type Directory struct {
	Server *client.Server
	Self   *client.Self
	IDs    []string // keys of its jobs, sorted

	Detail Detail
	// EndedJobs are the jobs of an agent that have ended. They are not among IDs.
	EndedJobs map[string]bool
	// Only are the jobs that Stop stops and for whose end Follow waits while other
	// jobs of the run continue; nil: all.
	Only []string
	// NoShutdownDelay makes Stop wait for no shutdown_delay.
	NoShutdownDelay bool
	// Alloc is the ID of the only allocation that has wanted outputs; empty: all may.
	Alloc string
	// Want selects outputs; nil: all. Tail is the number of their last lines with
	// which Detail Outputs begins; negative: all. Of these it leaves out those before
	// Since.
	Want  func(t *client.Task, stream event.Stream) bool
	Tail  int
	Since time.Time
	// Newest limits the bytes of an output that are read at once, after the first
	// time: of more, only the newest are read. 0: all are.
	Newest int64

	bus       event.Bus
	histories []*grown
	past      []event.Event // loaded but not published yet
	outputs   outputs
	wake      chan struct{}
	atEnd     bool // outputs start at their current end
	pieces    *event.Pieces
	stopped   <-chan struct{}
	buf       []byte // for read
}

// NewDirectory returns the run that an engine serves. It opens no files.
func NewDirectory(s *client.Server, self *client.Self) *Directory {
	return &Directory{
		Server: s, Self: self, IDs: slices.Sorted(maps.Keys(self.Runs)),
		outputs: outputs{open: map[outputKey]*output{}, unread: map[outputKey]bool{}},
		wake:    make(chan struct{}, 1), pieces: event.NewPieces(maxPieces), buf: make([]byte, pieceSize),
	}
}

// Living limits the run of an agent to the jobs that have not ended, given all of
// its jobs that have.
func (d *Directory) Living(ended map[string]bool) {
	d.EndedJobs = ended
	d.IDs = slices.DeleteFunc(d.IDs, func(job string) bool { return ended[job] })
}

// Key returns the key of the job of the run that a user names, or "".
func (d *Directory) Key(name string) string {
	if keys := d.Keys(name); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// Keys returns the keys of the jobs of the run that a user can mean: the one with
// this name or, if no job has it, those with this ID.
func (d *Directory) Keys(name string) (keys []string) {
	for _, key := range d.IDs {
		switch {
		case event.JobName(key) == name:
			return []string{key}
		case event.NamesJob(name, key):
			keys = append(keys, key)
		}
	}
	return keys
}

// Narrow limits the run to one of its jobs, and returns it: the others may continue.
func (d *Directory) Narrow(job string) *Directory {
	if len(d.IDs) > 1 || d.Self.Agent {
		d.IDs, d.Only = []string{job}, []string{job}
	}
	return d
}

// Log returns the path of the file with messages about a run in the background.
func (d *Directory) Log(job string) string { return filepath.Join(d.Self.Runs[job], LogFile) }

func (d *Directory) allocDir(job, alloc string) string {
	if d.Self.Runs[job] == "" { // another job has launched it
		for _, parent := range d.IDs {
			if strings.HasPrefix(job, parent+"/") {
				job = parent
			}
		}
	}
	return filepath.Join(d.Self.Runs[job], "alloc", alloc)
}

// Jobs returns the jobs of the run as they were submitted.
func (d *Directory) Jobs(ctx context.Context) (jobs []*api.Job, err error) {
	for _, key := range d.IDs {
		s, id := d.Server.Of(key)
		j, _, err := s.Info(ctx, id, 0)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Ended reports whether the run has ended and its summary is complete.
func (d *Directory) Ended() (bool, error) {
	for _, dir := range d.Self.Runs {
		_, err := os.Stat(filepath.Join(dir, SummaryFile))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// Stop stops or kills the jobs, unless they have ended.
func (d *Directory) Stop(ctx context.Context, kill bool) error {
	for _, job := range d.concerned() {
		how := client.Stopping{NoShutdownDelay: d.NoShutdownDelay}
		switch {
		case d.Only != nil:
		case kill:
			how.Run = "kill"
		default:
			how.Run = "stop"
		}
		err := d.Server.Stop(ctx, job, how)
		if err == nil {
			continue
		}
		if _, failure := os.Stat(filepath.Join(d.Self.Runs[job], SummaryFile)); failure != nil {
			return fmt.Errorf("%w; messages of taskrun are in %s", err, d.Log(job))
		}
	}
	return nil
}

func (d *Directory) concerned() []string {
	if d.Only != nil {
		return d.Only
	}
	return d.IDs
}

// Subscribe returns the events that Follow publishes.
func (d *Directory) Subscribe(output bool) *event.Subscription { return d.bus.Subscribe(output) }

// alert wakes Follow to look for events and output.
func (d *Directory) alert() {
	select {
	case d.wake <- struct{}{}:
	default: // it is awake already
	}
}
