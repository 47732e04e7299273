package verify

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
)

// Side is where a job runs.
type Side struct {
	Server *client.Server
	Job    *api.Job
	EvalID string // of the registration; empty: the job was submitted otherwise
	Hide   Hider
	// Alone is true if there is one node, which runs nothing else: if an allocation
	// does not fit now, it will not fit later.
	Alone bool
	Say   func(text string) // shows a notice
}

type collector struct {
	Side
	builder *compare.Builder
	reading sync.WaitGroup // of environments
	stopped bool           // the job is being stopped

	allocs map[string]*seen // by ID

	mu sync.Mutex // for the environments
}

// seen is an allocation of the job.
type seen struct {
	values map[compare.Key]string
	env    map[string]map[compare.Key]string // by task; nil: not read
	asked  map[string]bool                   // tasks
	// late is true if it was placed while the job was being stopped. The other side
	// may have been quicker to stop.
	late bool
}

// maxFile limits what is compared of a file; of larger ones, the size is compared.
const maxFile = 64 << 10

// answerTime limits the time of requests whose answers are not essential.
const answerTime = 10 * time.Second

var streams = []string{"stdout", "stderr"}

func (c *collector) query(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{Namespace: *c.Job.Namespace}).WithContext(ctx)
}

func (c *collector) info(ctx context.Context, alloc string) (*api.Allocation, error) {
	info, _, err := c.Server.API.Allocations().Info(alloc, c.query(ctx))
	return info, err
}

// ownWords returns a replacer of words that belong to one allocation.
func ownWords(alloc *api.Allocation) *strings.Replacer {
	var ports []int
	if r := alloc.AllocatedResources; r != nil {
		for _, p := range r.Shared.Ports {
			ports = append(ports, p.Value)
		}
	}
	return scrub.Own(alloc.ID, ports)
}
