package main

import (
	"context"
	"errors"
	"sync"
)

// concurrently does a list, several items at a time, until there is an error.
func concurrently[T any](ctx context.Context, several int, list []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan T, len(list))
	for _, item := range list {
		next <- item
	}
	close(next)
	errs := make([]error, max(1, several))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for item := range next {
				if errs[i] = do(ctx, item); errs[i] != nil {
					cancel()
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
