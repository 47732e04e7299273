// Package registry keeps what an agent knows besides its jobs: namespaces, node
// pools, the configuration of the scheduler, changes of the node, host volumes,
// and the index from which a later engine continues. A change is stored before
// anybody sees it, and published as an event, which advances the index.
package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// Registry holds the tables. Its methods, and those of the tables, are safe for
// concurrent use. Objects are read only.
type Registry struct {
	Namespaces  *Table[api.Namespace]              // by name
	Pools       *Table[api.NodePool]               // by name
	Scheduler   *Table[api.SchedulerConfiguration] // by ""
	Nodes       *Table[Node]                       // by ID
	HostVolumes *Table[api.HostVolume]             // by ID

	bus    *event.Bus
	ledger *store.Ledger
	dir    string
	lost   []string
	tables []table

	variables *variables

	orders sync.Mutex   // serializes changes; locked before the bus
	mu     sync.RWMutex // guards the objects of the tables; nothing is locked inside it
}

// table is a table of any type.
type table interface {
	load() (lost []error)
	// past returns the latest changes of the objects, as events.
	past() []event.Event
}

// New returns a registry in memory, which publishes its changes on a bus.
func New(bus *event.Bus) *Registry { return with(bus, store.NewLedger(bus)) }

// Open returns the registry that is kept in a directory, and continues the index
// of the bus. Only one registry may use a directory at a time. The caller must
// close it.
func Open(bus *event.Bus, dir string) (*Registry, error) {
	ledger, err := store.OpenLedger(bus, dir)
	if err != nil {
		return nil, err
	}
	r := with(bus, ledger)
	r.dir, r.lost = dir, ledger.Lost()
	var past []event.Event
	var last uint64
	_, err = ledger.Get(store.KeyOf(floorKey), &last)
	unreadable := []error{err}
	for _, t := range r.tables {
		unreadable = append(unreadable, t.load()...)
		past = append(past, t.past()...)
	}
	for _, err := range unreadable {
		if err != nil {
			r.lost = append(r.lost, err.Error())
		}
	}
	slices.SortFunc(past, func(a, b event.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	bus.Restore(past, last)
	bus.Reserve = r.reserve
	return r, nil
}

func with(bus *event.Bus, ledger *store.Ledger) *Registry {
	r := &Registry{bus: bus, ledger: ledger}
	r.Namespaces = newTable(r, event.Namespaces, func(n *api.Namespace) (created, modified *uint64) { return &n.CreateIndex, &n.ModifyIndex })
	r.Pools = newTable(r, event.NodePools, func(p *api.NodePool) (created, modified *uint64) { return &p.CreateIndex, &p.ModifyIndex })
	r.Scheduler = newTable(r, event.Scheduler, func(c *api.SchedulerConfiguration) (created, modified *uint64) { return &c.CreateIndex, &c.ModifyIndex })
	r.Nodes = newTable(r, event.Nodes, func(n *Node) (created, modified *uint64) { return &n.CreateIndex, &n.ModifyIndex })
	r.HostVolumes = newTable(r, event.HostVolumes, func(v *api.HostVolume) (created, modified *uint64) { return &v.CreateIndex, &v.ModifyIndex })
	r.variables = &variables{registry: r}
	r.tables = append(r.tables, r.variables)
	r.addBuiltIn()
	return r
}

// addBuiltIn adds what exists from the start, as in Nomad.
func (r *Registry) addBuiltIn() {
	r.Namespaces.Add(api.DefaultNamespace, &api.Namespace{Name: api.DefaultNamespace, Description: "Default shared namespace"})
	r.AddPool(api.NodePoolAll, "Node pool with all nodes in the cluster.")
	r.AddPool(api.NodePoolDefault, "Default node pool.")
	r.Scheduler.Add("", &api.SchedulerConfiguration{
		SchedulerAlgorithm: api.SchedulerAlgorithmBinpack,
		PreemptionConfig:   api.PreemptionConfig{SystemSchedulerEnabled: true},
	})
}

// NodeIdentityTTL is the default of node pools. It has no effect here.
const NodeIdentityTTL = 24 * time.Hour

// AddPool adds a node pool that is there without a change.
func (r *Registry) AddPool(name, description string) {
	r.Pools.Add(name, &api.NodePool{Name: name, Description: description, NodeIdentityTTL: NodeIdentityTTL})
}

// Lost says what was lost of the stored state because it is damaged, or returns
// "".
func (r *Registry) Lost() string {
	if len(r.lost) == 0 {
		return ""
	}
	return fmt.Sprintf("some of the state of the agent in %q is lost: %s", r.dir, strings.Join(r.lost, "; "))
}

// floorKey is the key of the number that no event has reached.
const floorKey = "floor"

// block is how many numbers of events are reserved at once.
const block = 1 << 14

// reserve stores that events may get numbers up to limit: after a crash, a later
// engine continues there, above every index that a client may have seen.
func (r *Registry) reserve(seq uint64) (limit uint64) {
	limit = seq + block
	var c store.Change
	c.Put(store.KeyOf(floorKey), limit)
	if r.ledger.Store(c) != nil {
		return seq // try again with the next event
	}
	return limit
}

// Close closes the registry. A later one continues with the next index.
func (r *Registry) Close() error {
	r.orders.Lock()
	defer r.orders.Unlock()
	var c store.Change
	c.Put(store.KeyOf(floorKey), r.bus.Last())
	_ = r.ledger.Store(c) // otherwise the index continues above the reserved ones
	return r.ledger.Close()
}

// HaltWhen is for tests: see [store.Ledger.HaltWhen].
func (r *Registry) HaltWhen(f func() bool) { r.ledger.HaltWhen(f) }

// index returns the index of the event with a number.
func index(seq uint64) uint64 { return fold.Index(event.Event{Seq: seq}) }
