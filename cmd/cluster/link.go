package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"taskrun/cmd/client"
)

// How long a cluster may be unreachable before a message and before giving up,
// and the pauses between attempts.
const (
	quietTime  = 3 * time.Second
	lostTime   = 5 * time.Minute
	firstPause = 500 * time.Millisecond
	maxPause   = 15 * time.Second
)

// idlePause is the pause between queries to a server that answers at once
// instead of waiting for a change, as behind some proxies.
const idlePause = time.Second

// link is the connection to a cluster, which may break off and be restored.
type link struct {
	say func(text string)

	mu   sync.Mutex
	lost time.Time // since when it is lost; zero: it is not
	said bool      // its loss was reported
}

// broke handles the error of a request. It returns an error if there is no
// point in repeating the request.
func (l *link) broke(err error) error {
	if refused, ok := errors.AsType[*client.RefusedError](err); ok && refused.Code < http.StatusInternalServerError && refused.Code != http.StatusTooManyRequests {
		return err // the answer would be the same
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lost.IsZero():
		l.lost = time.Now()
	case time.Since(l.lost) > lostTime:
		return fmt.Errorf("gave up after %v: %w", lostTime, err)
	case time.Since(l.lost) > quietTime && !l.said:
		l.said = true
		l.say(fmt.Sprintf("%v; trying again", err))
	}
	return nil
}

func (l *link) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said {
		l.say(fmt.Sprintf("the cluster answers again, after %v", time.Since(l.lost).Round(time.Second)))
	}
	l.lost, l.said = time.Time{}, false
}

// follow repeats a request, each time with the index of the last answer, until
// ctx ends, the request reports that this was enough (which an error may do),
// or there is no point in repeating it.
func (l *link) follow(ctx context.Context, request func(after uint64) (index uint64, enough bool, err error)) error {
	index, pause := uint64(0), firstPause
	for {
		began := time.Now()
		next, enough, err := request(index)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && enough:
			return err
		case err != nil:
			if err := l.broke(err); err != nil {
				return err
			}
			if err := sleep(ctx, pause); err != nil {
				return err
			}
			pause, index = min(2*pause, maxPause), 0 // another server may have other indexes
			continue
		}
		l.answered()
		pause = firstPause
		if enough {
			return nil
		}
		if next <= index {
			if next < index {
				next = 0 // the server was restored
			}
			if time.Since(began) < idlePause {
				if err := sleep(ctx, idlePause); err != nil {
					return err
				}
			}
		}
		index = next
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
