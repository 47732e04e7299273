package jobspec

import (
	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
)

// A place is the position of the decoder in the job, which collects Positions.
type place struct {
	*atlas

	path  Path
	trail *trail // of the nearest enclosing block that may be moved; nil: none
}

// An atlas collects the positions of a job.
type atlas struct {
	positions Positions
	trails    map[Path]*trail
	lost      []Path
	bareTasks int // task blocks outside of groups, each of which becomes a group
}

// A trail records the paths below a block that gets another place in the job:
// it is inherited by tasks, or separated from its siblings.
type trail struct{ paths []Path }

func newAtlas(text []byte) *atlas {
	const bytesPerPosition = 64 // an estimate, to avoid growing the map
	return &atlas{
		positions: make(Positions, len(text)/bytesPerPosition),
		trails:    map[Path]*trail{},
	}
}

// Attr records an attribute.
func (p place) Attr(name string, at hcl.Range) { p.note(p.path.Attr(name), at) }

// maxLost is the maximum number of lost values in a draft that is checked:
// every diagnostic is compared with each of them.
const maxLost = 1000

// Lost records a value that is invalid or missing.
func (p place) Lost(name string) {
	if len(p.lost) <= maxLost {
		p.atlas.lost = append(p.lost, p.path.Attr(name))
	}
}

// Block records a block that can occur once.
func (p place) Block(name string, at hcl.Range) decode.Place {
	return p.below(name, p.path.Attr(name), at)
}

// Item records one of several blocks.
func (p place) Item(name string, i int, label string, at hcl.Range) decode.Place {
	switch {
	case label != "" && (name == "port" || name == "reserved_ports"):
		return p.below(name, p.path.Label(name, label), at)
	case name == "vault" && p.path.Name() == "group": // the last one counts
		return p.below(name, p.path.Attr(name), at)
	case name == "task" && p.path == Root:
		p.bareTasks++
		group := p.below("group", Root.Index("group", i), at).(place)
		return group.below(name, group.path.Index(name, 0), at)
	case name == "group" && p.path == Root:
		i += p.bareTasks
	}
	return p.below(name, p.path.Index(name, i), at)
}

// Keyed records a block in a map, by label.
func (p place) Keyed(name, label string, at hcl.Range) decode.Place {
	return p.below(name, p.path.Label(name, label), at)
}

func (p place) below(name string, path Path, at hcl.Range) decode.Place {
	p.path = path
	if name == "vault" || name == "secret" || name == "identity" {
		p.trail = &trail{}
		p.trails[path] = p.trail
	}
	p.note(path, at)
	return p
}

func (p place) note(path Path, at hcl.Range) {
	p.positions[path] = RangeOf(at)
	if p.trail != nil {
		p.trail.paths = append(p.trail.paths, path)
	}
}

// copy gives the positions of the block at from, and everything below it, to
// the path to as well.
func (a *atlas) copy(from, to Path) {
	for path, at := range a.below(from) {
		a.positions[to+path] = at
	}
}

// below returns the positions at and below a block, by the rest of their paths.
func (a *atlas) below(from Path) map[Path]Range {
	t := a.trails[from]
	if t == nil {
		return nil
	}
	found := make(map[Path]Range, len(t.paths))
	for _, path := range t.paths {
		found[path[len(from):]] = a.positions[path]
	}
	return found
}

// moveIdentities records that the default identity was removed from the list of
// a task: it gets the path "identity", and the ones after it move up by one.
func (a *atlas) moveIdentities(task Path, first, count int) {
	const kind = "identity"
	moved := make([]map[Path]Range, 0, count)
	for i := first; i < count; i++ {
		from := task.Index(kind, i)
		found := a.below(from)
		moved = append(moved, found)
		for path := range found {
			delete(a.positions, from+path)
		}
	}
	for i, found := range moved {
		to := task.Attr(kind)
		if i > 0 {
			to = task.Index(kind, first+i-1)
		}
		for path, at := range found {
			a.positions[to+path] = at
		}
	}
}
