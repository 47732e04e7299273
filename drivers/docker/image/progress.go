package image

import (
	"fmt"
	"strconv"
	"sync"

	units "github.com/docker/go-units"
	"github.com/moby/moby/api/types/jsonstream"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// report reports the progress of a pull until stop is called: several times a
// second to live views, and now and then as an event of the task.
func (s *Store) report(cfg *drivers.TaskConfig, p *progress) (stop func()) {
	told := false
	emit := func(now drivers.Progress) { s.Events.Tell(cfg, drivers.TaskEvent{Progress: &now}) }
	live := func() {
		told = true
		emit(p.live())
	}
	word := func() { s.tell(cfg, p.image, "Docker image pull progress: "+p.String()) }
	done := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { event.TellProgress(done, live, word) })
	return func() {
		close(done)
		telling.Wait()
		if told {
			emit(drivers.Progress{What: p.image, Over: true})
		}
	}
}

// progress counts what was pulled of the layers of an image.
type progress struct {
	image string

	mu     sync.Mutex
	layers map[string]layer
}

type layer struct {
	current, total int64 // bytes; 0 while unknown
	pulling, done  bool
}

func newProgress(image string) *progress { return &progress{image: image, layers: map[string]layer{}} }

// add counts a message of the engine. Only those of downloads have meaningful
// sizes.
func (p *progress) add(m jsonstream.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, known := p.layers[m.ID]
	switch m.Status {
	case "Pulling fs layer", "Waiting":
	case "Downloading":
		l.pulling = true
		if m.Progress != nil {
			l.current, l.total = m.Progress.Current, m.Progress.Total
		}
	case "Download complete", "Pull complete", "Already exists":
		l.current, l.done = l.total, true
	default:
		if !known {
			return // about the image as a whole
		}
	}
	p.layers[m.ID] = l
}

// count returns the sum of the known sizes, and how many layers are done,
// downloading, and waiting.
func (p *progress) count() (sum layer, done, pulling, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.layers {
		sum.current, sum.total = sum.current+l.current, sum.total+l.total
		switch {
		case l.done:
			done++
		case l.pulling:
			pulling++
		default:
			waiting++
		}
	}
	return sum, done, pulling, waiting
}

// String returns the progress in Nomad's words.
func (p *progress) String() string {
	sum, done, pulling, waiting := p.count()
	return fmt.Sprintf("Pulled %d/%d (%s/%s) layers: %d waiting/%d pulling", done, done+pulling+waiting,
		units.BytesSize(float64(sum.current)), units.BytesSize(float64(sum.total)), waiting, pulling)
}

// live returns the progress for live views.
func (p *progress) live() drivers.Progress {
	sum, done, pulling, waiting := p.count()
	out := drivers.Progress{What: p.image, Done: sum.current, Total: sum.total}
	if n := done + pulling + waiting; n > 0 {
		out.Detail = strconv.Itoa(done) + " of " + strconv.Itoa(n) + " layers"
	}
	return out
}
