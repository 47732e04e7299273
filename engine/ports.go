package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// Dynamic ports come from Nomad's default range, min_dynamic_port to
// max_dynamic_port.
const (
	firstDynamicPort = 20000
	lastDynamicPort  = 32000
	portTries        = 1000
)

// loopback is the address of every port: what runs here is for this machine.
const loopback = "127.0.0.1"

// ports keeps the allocations of a run from getting the same dynamic port. The
// zero value is ready.
type ports struct {
	mu   sync.Mutex
	used map[int]bool
}

// claim gives a group its ports. The caller calls release when the allocation
// has ended.
func (p *ports) claim(g *api.TaskGroup) (claimed []taskenv.Port, release func(), err error) {
	var mine []int
	release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, port := range mine {
			delete(p.used, port)
		}
	}
	for _, n := range g.Networks {
		for _, port := range n.ReservedPorts {
			claimed = append(claimed, taskenv.Port{Label: port.Label, Value: port.Value, To: port.To, HostIP: loopback})
		}
		for _, port := range n.DynamicPorts {
			value, err := p.dynamic()
			if err != nil {
				release()
				return nil, nil, fmt.Errorf("cannot find a port for label %q: %w", port.Label, err)
			}
			mine = append(mine, value)
			claimed = append(claimed, taskenv.Port{Label: port.Label, Value: value, To: port.To, HostIP: loopback})
		}
	}
	return claimed, release, nil
}

// dynamic returns a port that nobody listens on now.
func (p *ports) dynamic() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range portTries {
		port := firstDynamicPort + rand.IntN(lastDynamicPort-firstDynamicPort+1)
		if p.used[port] || !free(port) {
			continue
		}
		if p.used == nil {
			p.used = make(map[int]bool)
		}
		p.used[port] = true
		return port, nil
	}
	return 0, errors.New("all that were tried are in use")
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
