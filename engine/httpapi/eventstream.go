package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	// streamBeat is the time between the empty lines of an event stream.
	streamBeat = 30 * time.Second
	// lastEvents is how long a stream waits for the last events of a run when
	// the server ends.
	lastEvents = 200 * time.Millisecond
	// lineTime is how long a client may take to read a line, as in Nomad.
	lineTime = 40 * time.Second
	// maxBehind is by how many entries a client may be late.
	maxBehind = 10_000
)

// topics is what a client wants to hear of: by topic the keys.
type topics map[api.Topic][]string

// parseTopics reads the topic parameters: Topic, Topic:key or *. None is all.
func parseTopics(values []string) (topics, error) {
	wanted := topics{}
	for _, value := range values {
		name, key, ok := strings.Cut(value, ":")
		if !ok {
			key = "*"
		}
		if name == "" || key == "" || strings.Contains(key, ":") {
			return nil, fail(http.StatusBadRequest, "Invalid topic %q: want Topic or Topic:key", value)
		}
		wanted[api.Topic(name)] = append(wanted[api.Topic(name)], key)
	}
	if len(wanted) == 0 {
		wanted[api.TopicAll] = []string{"*"}
	}
	return wanted, nil
}

func (t topics) want(o occurrence) bool {
	return slices.ContainsFunc(slices.Concat(t[o.topic], t[api.TopicAll]), func(key string) bool {
		return key == "*" || key == o.key || slices.Contains(o.filters, key)
	})
}

// streamEvent is an event as it is sent.
type streamEvent struct {
	Topic      api.Topic
	Type       string
	Key        string
	FilterKeys []string
	Namespace  string
	Index      uint64
	Payload    map[string]any
}

// eventStream answers GET /v1/event/stream: a line for each index at which
// something happened, beginning with those that are still known, and empty
// objects by which the client sees that the stream lives. It ends with the
// server, when the last events were sent.
func (s *Server) eventStream(w http.ResponseWriter, r *request) error {
	wanted, err := parseTopics(r.query["topic"])
	if err != nil {
		return err
	}
	index := uint64(0)
	if raw := r.query.Get("index"); raw != "" {
		if index, err = strconv.ParseUint(raw, 10, 64); err != nil {
			return fail(http.StatusBadRequest, "Unable to parse index: %v", err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Connection", "close")
	lines := lineWriter{json.NewEncoder(w), http.NewResponseController(w)}
	if err := lines.write(struct{}{}); err != nil {
		return nil // the client is gone
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	gone, over := r.Context().Done(), (<-chan time.Time)(nil)
	for at := s.tracker.feed.from(index); ; {
		select {
		case <-at.more:
			if at = at.next; at == nil {
				return nil
			}
			if err := s.sendEntry(&lines, at, wanted, r); err != nil || s.tracker.feed.behind(at) > maxBehind {
				return nil
			}
		case <-beat.C:
			if err := lines.write(struct{}{}); err != nil {
				return nil
			}
		case <-gone:
			if s.ctx.Err() == nil {
				return nil
			}
			gone, over = nil, time.After(lastEvents)
		case <-over:
			return nil
		}
	}
}

func (s *Server) sendEntry(lines *lineWriter, e *entry, wanted topics, r *request) error {
	var events []streamEvent
	for _, o := range e.events {
		if !wanted.want(o) {
			continue
		}
		namespace, payload := s.payload(o)
		if payload != nil && (namespace == "" || r.inNamespace(namespace)) {
			events = append(events, streamEvent{o.topic, o.kind, o.key, o.filters, namespace, e.index, payload})
		}
	}
	if len(events) == 0 {
		return nil
	}
	return lines.write(struct {
		Index  uint64
		Events []streamEvent
	}{e.index, events})
}

// payload returns the object that an event is about, as it is now, with its
// namespace; nil when it is gone.
func (s *Server) payload(o occurrence) (namespace string, payload map[string]any) {
	switch o.topic {
	case api.TopicJob:
		if j := s.look().job(o.key); j != nil {
			return *j.Namespace, map[string]any{"Job": j}
		}
	case api.TopicAllocation:
		if a, ok := s.engine.Alloc(o.key); ok {
			return *a.Job.Namespace, map[string]any{"Allocation": s.allocation(a)}
		}
	case api.TopicEvaluation:
		all := s.tracker.evaluated()
		if i := slices.IndexFunc(all, func(e evaluationRecord) bool { return e.id == o.key }); i >= 0 {
			e := s.evaluation(s.look(), all[i])
			return e.Namespace, map[string]any{"Evaluation": e}
		}
	case api.TopicDeployment:
		for _, d := range s.deployments(s.look(), o.filters[0]) {
			if d.ID == o.key {
				return d.Namespace, map[string]any{"Deployment": d}
			}
		}
	case api.TopicService:
		service := *o.object.(*api.ServiceRegistration)
		service.NodeID, service.Datacenter = s.cfg.Node.ID, s.cfg.Node.Datacenter
		return service.Namespace, map[string]any{"Service": &service}
	case topicVariable:
		v := o.object.(variableEvent)
		return v.Metadata.Namespace, map[string]any{"Metadata": v.Metadata, "Deleted": v.Deleted}
	case api.TopicNode:
		return "", map[string]any{"Node": s.node(s.ctx)}
	case api.TopicNodePool, api.TopicAll: // nothing happens there
	}
	return "", nil
}

// lineWriter writes objects that a client gets at once.
type lineWriter struct {
	enc     *json.Encoder
	control *http.ResponseController
}

func (l *lineWriter) write(v any) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(lineTime)); err != nil {
		return err
	}
	if err := l.enc.Encode(v); err != nil {
		return err
	}
	return l.control.Flush()
}
