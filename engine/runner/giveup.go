package runner

import (
	"fmt"
	"time"
)

// giveUpTime is how long a hook or a driver may take to return when its task, or
// the allocation, was killed. Nothing waits for it any longer.
const giveUpTime = 5 * time.Second

// errGivenUp is the error of a hook that has not returned.
var errGivenUp = fmt.Errorf("it has not returned %v after the kill", giveUpTime)

// within returns the result of f, or errGivenUp when f has not returned
// giveUpTime after killed was closed, or after the call if that is later. What
// f has a hold of is then its own.
func within(killed <-chan struct{}, f func() error) error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-killed:
	}
	timer := time.NewTimer(giveUpTime)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		return errGivenUp
	}
}
