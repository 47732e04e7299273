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

// How long a cluster may be out of reach, without a word and at all, and the
// pauses between two attempts.
const (
	wordlessTime = 3 * time.Second
	lostTime     = 5 * time.Minute
	firstPause   = 500 * time.Millisecond
	maxPause     = 15 * time.Second
)

// idlePause is the time between two questions to a server that answers at once
// what it was asked to wait for, as some proxies make it.
const idlePause = time.Second

// link is the connection to a cluster, which may break and come back.
type link struct {
	say func(text string)

	mu   sync.Mutex
	lost time.Time // since when; zero: it is there
	told bool
}

// broke takes in an error of a question. It returns an error when there is no
// use in asking again.
func (l *link) broke(err error) error {
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Code < http.StatusInternalServerError && refused.Code != http.StatusTooManyRequests {
		return err // it will not answer otherwise
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lost.IsZero():
		l.lost = time.Now()
	case time.Since(l.lost) > lostTime:
		return fmt.Errorf("given up after %v: %w", lostTime, err)
	case time.Since(l.lost) > wordlessTime && !l.told:
		l.told = true
		l.say(fmt.Sprintf("%v; trying again", err))
	}
	return nil
}

// answered takes in that the cluster is there.
func (l *link) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told {
		l.say(fmt.Sprintf("the cluster answers again, after %v", time.Since(l.lost).Round(time.Second)))
	}
	l.lost, l.told = time.Time{}, false
}

// watch asks again and again, each time with the index of the last answer,
// until ctx ends, the question says that this was enough, also with an error, or
// there is no use in asking again.
func (l *link) watch(ctx context.Context, question func(after uint64) (index uint64, enough bool, err error)) error {
	index, pause := uint64(0), firstPause
	for {
		began := time.Now()
		next, enough, err := question(index)
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
			pause, index = min(2*pause, maxPause), 0 // another server may count otherwise
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
