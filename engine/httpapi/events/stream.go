// Package events serves Nomad's event stream.
package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// Handler serves the events of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

const (
	// streamBeat is the interval of empty lines in an event stream.
	streamBeat = 30 * time.Second
	// lastEvents is how long a stream waits for the last events of a run when
	// the server ends.
	lastEvents = 200 * time.Millisecond
	// LineTime is how long a client may take to read a line, as in Nomad.
	LineTime = 40 * time.Second
	// MaxBehind is how many entries a client may be behind.
	MaxBehind = 10_000
)

// topics are the keys of the events that a client requests, by topic.
type topics map[api.Topic][]string

// parseTopics parses the topic parameters: Topic, Topic:key or *. Without any,
// it returns all topics.
func parseTopics(values []string) (topics, error) {
	wanted := topics{}
	for _, value := range values {
		name, key, ok := strings.Cut(value, ":")
		if !ok {
			key = "*"
		}
		if name == "" || key == "" || strings.Contains(key, ":") {
			return nil, rest.Fail(http.StatusBadRequest, "Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: %s", value)
		}
		wanted[api.Topic(name)] = append(wanted[api.Topic(name)], key)
	}
	if len(wanted) == 0 {
		wanted[api.TopicAll] = []string{"*"}
	}
	return wanted, nil
}

func (t topics) want(o feed.Occurrence) bool {
	return slices.ContainsFunc(slices.Concat(t[o.Topic], t[api.TopicAll]), func(key string) bool {
		return key == "*" || key == o.Key || slices.Contains(o.Filters, key)
	})
}

// streamEvent is an event in its wire format.
type streamEvent struct {
	Topic      api.Topic
	Type       string
	Key        string
	FilterKeys []string
	Namespace  string
	Index      uint64
	Payload    map[string]any
}

// Stream answers GET /v1/event/stream with a line for each index at which
// something happened, starting with the kept ones, and with empty objects that
// show the client that the stream is alive. It ends with the server, after the
// last events.
func (h *Handler) Stream(r *rest.Request) error {
	wanted, err := parseTopics(r.Query["topic"])
	if err != nil {
		return err
	}
	index := uint64(0)
	if raw := r.Query.Get("index"); raw != "" {
		if index, err = strconv.ParseUint(raw, 10, 64); err != nil {
			return rest.Fail(http.StatusBadRequest, "Unable to parse index: %v", err)
		}
	}
	at := h.run.Tracker.Feed.From(index) // before the answer: a client misses nothing that happens once it has it
	r.Answer.Header().Set("Content-Type", "application/json")
	r.Answer.Header().Set("Cache-Control", "no-cache")
	r.Answer.Header().Set("Connection", "close")
	lines := lineWriter{json.NewEncoder(r.Answer), http.NewResponseController(r.Answer)}
	if err := lines.write(struct{}{}); err != nil {
		return nil // the client is gone
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	gone, over := r.Context().Done(), (<-chan time.Time)(nil)
	for {
		select {
		case <-at.More():
			if at = at.Next(); at == nil {
				return nil
			}
			if err := h.sendEntry(&lines, at, wanted, r); err != nil || h.run.Tracker.Feed.Behind(at) > MaxBehind {
				return nil
			}
		case <-beat.C:
			if err := lines.write(struct{}{}); err != nil {
				return nil
			}
		case <-gone:
			if !errors.Is(context.Cause(r.Context()), rest.ErrShutdown) {
				return nil
			}
			gone, over = nil, time.After(lastEvents)
		case <-over:
			return nil
		}
	}
}

func (h *Handler) sendEntry(lines *lineWriter, e *feed.Entry, wanted topics, r *rest.Request) error {
	var events []streamEvent
	for _, o := range e.Events {
		if !wanted.want(o) {
			continue
		}
		namespace, payload := h.payload(r.Context(), o)
		if payload != nil && (namespace == "" || r.InNamespace(namespace)) {
			events = append(events, streamEvent{o.Topic, o.Kind, o.Key, o.Filters, namespace, e.Index, payload})
		}
	}
	if len(events) == 0 {
		return nil
	}
	return lines.write(struct {
		Index  uint64
		Events []streamEvent
	}{e.Index, events})
}

// payload returns the current state of the object that an event is about, with
// its namespace, or nil if it is gone.
func (h *Handler) payload(ctx context.Context, o feed.Occurrence) (namespace string, payload map[string]any) {
	switch o.Topic {
	case api.TopicJob:
		if j := h.run.Job(o.Job); j != nil {
			return *j.Namespace, map[string]any{"Job": j}
		}
		if o.Kind == "JobDeregistered" { // and purged: all that is left is its name
			namespace, id := event.SplitJobKey(o.Job)
			gone := &api.Job{ID: &id, Name: &id, Namespace: &namespace, Status: new("dead"), Stop: new(true)}
			return namespace, map[string]any{"Job": gone, "Deleted": true}
		}
	case api.TopicAllocation:
		if a, ok := h.run.Engine.Alloc(o.Key); ok {
			return *a.Job.Namespace, map[string]any{"Allocation": h.run.Allocation(a)}
		}
	case api.TopicEvaluation:
		all := h.run.Tracker.Evaluations()
		if i := slices.IndexFunc(all, func(e *fold.Evaluation) bool { return e.ID == o.Key }); i >= 0 {
			e := h.run.Evaluation(all[i])
			return e.Namespace, map[string]any{"Evaluation": e}
		}
	case api.TopicDeployment:
		for _, d := range h.run.Deployments(o.Job) {
			if d.ID == o.Key {
				return d.Namespace, map[string]any{"Deployment": d}
			}
		}
	case api.TopicService:
		registered := *o.Object.(*api.ServiceRegistration)
		registered.NodeID, registered.Datacenter = h.run.Machine.ID, h.run.Machine.Datacenter
		if a, ok := h.run.Engine.Alloc(registered.AllocID); ok {
			registered.Namespace = *a.Job.Namespace // the keys of a run that ends with its jobs have none
		}
		return registered.Namespace, map[string]any{"Service": &registered}
	case feed.TopicVariable:
		v := o.Object.(feed.Variable)
		return v.Metadata.Namespace, map[string]any{"Metadata": v.Metadata, "Deleted": v.Deleted}
	case api.TopicNode:
		return "", map[string]any{"Node": h.run.Node(ctx)}
	case api.TopicNodePool:
		return "", map[string]any{"NodePool": (*plainPool)(o.Object.(*api.NodePool))}
	case feed.TopicHostVolume:
		v := o.Object.(*api.HostVolume)
		return v.Namespace, map[string]any{"Volume": v}
	case api.TopicAll: // no event has it
	}
	return "", nil
}

// plainPool is a node pool whose durations are numbers: Nomad's client cannot
// decode others in events.
type plainPool api.NodePool

// lineWriter writes objects and flushes each of them.
type lineWriter struct {
	enc     *json.Encoder
	control *http.ResponseController
}

func (l *lineWriter) write(v any) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(LineTime)); err != nil {
		return err
	}
	if err := l.enc.Encode(v); err != nil {
		return err
	}
	return l.control.Flush()
}
