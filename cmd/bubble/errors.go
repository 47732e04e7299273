package bubble

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// LimitError is the cause of the end of a context whose virtual time is up.
type LimitError struct{ Limit time.Duration }

func (e *LimitError) Error() string {
	return fmt.Sprintf("not over after %v of virtual time", e.Limit)
}

// PanicError is a panic of the function. A panic of another goroutine of the bubble
// ends the process, as everywhere.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// StalledError says that virtual time stands still: a goroutine of the bubble waits
// for something outside of it, or computes without end.
type StalledError struct {
	After      time.Duration // virtual time that has passed, to the minute
	Goroutines []Goroutine   // those that do not wait for the bubble
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("virtual time has stood still since %v: %s", e.After, names(e.Goroutines))
}

// LeftoverError says that goroutines are left of a function that has returned.
type LeftoverError struct {
	Goroutines []Goroutine
	Err        error // of the function
}

func (e *LeftoverError) Error() string {
	text := "goroutines are left behind: " + names(e.Goroutines)
	if e.Err != nil {
		text = e.Err.Error() + "; " + text
	}
	return text
}

func (e *LeftoverError) Unwrap() error { return e.Err }

func names(list []Goroutine) string {
	text := make([]string, len(list))
	for i, g := range list {
		text[i] = g.String()
	}
	return strings.Join(text, ", ")
}

// Stacks returns the stacks of the goroutines that an error of Run blames, or "" if
// it blames none.
func Stacks(err error) (stacks string) {
	if crash, ok := errors.AsType[*PanicError](err); ok {
		stacks = string(crash.Stack)
	}
	if left, ok := errors.AsType[*LeftoverError](err); ok {
		stacks += stacksOf(left.Goroutines)
	}
	if stalled, ok := errors.AsType[*StalledError](err); ok {
		stacks += stacksOf(stalled.Goroutines)
	}
	return stacks
}

func stacksOf(list []Goroutine) string {
	text := make([]string, len(list))
	for i, g := range list {
		text[i] = strings.TrimSpace(g.Stack) + "\n"
	}
	return strings.Join(text, "\n")
}
