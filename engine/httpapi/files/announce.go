package files

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// announceTime is the shortest interval between announcements: of a thousand tasks
// that write all the time, each line would wake two processes. A new file does not
// wait, because rotation might remove it before the client has opened it.
const announceTime = 20 * time.Millisecond

// newFile is the event of a frame for output in a file that was not announced before.
const newFile = "new file"

// Outputs answers GET /v1/client/fs/outputs with a frame whenever an output has grown:
// one of any allocation, or of the one that the parameter alloc names. It is not part
// of Nomad's API. The client reads the files itself, so that one connection is enough
// for thousands of tasks; output that is not kept in files is in the frames. There are
// no heartbeats: on one machine no connection breaks off silently.
func (h *Handler) Outputs(r *rest.Request) error {
	a := &announcer{alloc: r.Query.Get("alloc"), hurry: make(chan struct{}, 1), outputs: map[string]map[outputKey]*announced{}}
	sub := h.engine.SubscribeTo(a.wants)
	defer sub.Close()
	out := r.Frames(false)
	out.End(h.announce(r.Context(), out, a, sub), true)
	return nil
}

// announcer decides how outputs are announced to a client.
type announcer struct {
	alloc string        // ID of the only allocation; empty: all
	hurry chan struct{} // receives a value when there is a new file

	mu      sync.Mutex
	outputs map[string]map[outputKey]*announced // by ID of an allocation that has not ended
}

// announced is an output that was announced.
type announced struct {
	source event.Source // the latest; only compared
	fresh  bool         // it has not been announced yet
	memory *bool        // whether the output is not kept in files; nil: unknown
}

// wants selects the events to announce.
func (a *announcer) wants(e event.Event) bool {
	if e.Alloc == nil || a.alloc != "" && a.alloc != e.Alloc.ID {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch body := e.Body.(type) {
	case event.Output:
		o := a.output(outputKey{e.Alloc.ID, e.Task, body.Stream})
		if o.source != body.Source {
			o.source, o.fresh = body.Source, true
			select {
			case a.hurry <- struct{}{}:
			default:
			}
		}
		return true
	case event.AllocStatus:
		if body.Status == api.AllocClientStatusComplete || body.Status == api.AllocClientStatusFailed {
			delete(a.outputs, e.Alloc.ID)
		}
	}
	return false
}

// output returns an output. The caller must hold the lock.
func (a *announcer) output(key outputKey) *announced {
	of := a.outputs[key.alloc]
	if of == nil {
		of = map[outputKey]*announced{}
		a.outputs[key.alloc] = of
	}
	if of[key] == nil {
		of[key] = &announced{fresh: true}
	}
	return of[key]
}

// announce sends frames until ctx or the subscription ends.
func (h *Handler) announce(ctx context.Context, out *rest.Frames, a *announcer, sub *event.Subscription) error {
	err := out.Flush()
	for err == nil {
		e, ok := sub.Next(ctx)
		if !ok {
			break
		}
		if err = h.frame(out, a, e); err != nil || sub.Ready() {
			continue
		}
		err = out.Flush()
		select {
		case <-a.hurry:
		case <-time.After(announceTime):
		case <-ctx.Done():
		}
	}
	return err
}

// frame sends a frame for an event.
func (h *Handler) frame(out *rest.Frames, a *announcer, e event.Event) error {
	key := outputKey{alloc: e.Alloc.ID, task: e.Task}
	switch body := e.Body.(type) {
	case event.Output:
		key.stream = body.Stream
	case event.Gap:
		key.stream = body.Stream
	}
	a.mu.Lock()
	o := a.output(key)
	fresh := o.fresh
	o.fresh = false
	a.mu.Unlock()
	if o.memory == nil { // only set here
		alloc, ok := h.engine.Alloc(key.alloc)
		o.memory = new(ok && logsDisabled(alloc, key.task))
	}
	f := &api.StreamFrame{File: key.alloc + "/" + key.task + "." + key.stream.String()}
	_, gap := e.Body.(event.Gap)
	switch {
	case *o.memory:
		if err := fill(f, e.Body); err != nil {
			return err
		}
	case fresh || gap:
		f.FileEvent = newFile
	}
	return out.Write(f)
}
