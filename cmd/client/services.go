package client

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"
)

// changeTime is how long a server is asked to wait for a change.
const changeTime = time.Minute

// Services returns the services of all namespaces, and the index at which the
// server had them. With the index of an earlier answer it waits for a change,
// for a minute at most.
func (s *Server) Services(ctx context.Context, after uint64) (list []*api.ServiceRegistration, index uint64, err error) {
	q, cancel := s.query(ctx)
	defer cancel()
	if after > 0 {
		waiting, cancel := context.WithTimeout(ctx, changeTime+localTime)
		defer cancel()
		q = (&api.QueryOptions{WaitIndex: after, WaitTime: changeTime}).WithContext(waiting)
	}
	q.Namespace = api.AllNamespacesNamespace
	stubs, meta, err := s.API.Services().List(q)
	if err != nil {
		return nil, 0, s.explain(q.Context(), "list the services", err)
	}
	for _, in := range stubs {
		for _, stub := range in.Services {
			q, cancel := s.query(ctx)
			q.Namespace = in.Namespace
			found, _, err := s.API.Services().Get(stub.ServiceName, q)
			cancel()
			if err != nil {
				return nil, 0, s.explain(q.Context(), "list the services", err)
			}
			list = append(list, found...)
		}
	}
	return list, meta.LastIndex, nil
}
