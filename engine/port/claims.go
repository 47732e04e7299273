// Package port assigns ports of the loopback address of this machine. A port has
// one owner at a time, among the allocations of an engine and among all engines of
// a user. Ports on which other programs listen are not assigned.
package port

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
)

// Claims are the ports that an engine has assigned.
type Claims struct {
	dir     string
	logical bool // they mean nothing to the machine
	rules   Rules

	mu   sync.Mutex
	held map[int]claim
}

type claim struct {
	by   string
	lock *os.File // nil if other engines cannot see the claim
}

// NewClaims returns an empty set of claims. In dir, which is created on demand, the
// engines of this user see each other's ports. If dir is empty or cannot be used,
// they do not.
func NewClaims(dir string) *Claims { return &Claims{dir: dir, held: map[int]claim{}} }

// NewLogical returns claims of ports on which no task listens. Like allocations on
// several machines, several owners may have the same port, and other programs of
// the machine make no difference.
func NewLogical() *Claims { return &Claims{logical: true, held: map[int]claim{}} }

// Obey sets the rules. Call it before the first claim.
func (c *Claims) Obey(rules Rules) { c.rules = rules }

// Static claims a port for an owner, by, which errors name. The error is an
// *InUseError if the port is not free.
func (c *Claims) Static(number int, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logical {
		return nil
	}
	if c.rules.Reserves(number) {
		return &InUseError{Port: number, By: "this machine: client.reserved in the configuration of the agent has it"}
	}
	if err := c.take(number, by); err != nil {
		return err
	}
	if taken(number) {
		c.release(number)
		return &InUseError{Port: number, By: owner(number)}
	}
	return nil
}

// Dynamic claims a port of the dynamic range: want if it is free, otherwise one for
// which spare returns false. spare may be nil.
func (c *Claims) Dynamic(by string, want int, spare func(number int) bool) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if want != 0 && c.takeFree(want, by) {
		return want, nil
	}
	first, last := c.rules.Range()
	count := last - first + 1
	start := rand.IntN(count)
	for i := range count {
		number := first + (start+i)%count
		if (spare == nil || !spare(number)) && c.takeFree(number, by) {
			return number, nil
		}
	}
	return 0, fmt.Errorf("all ports from %d to %d are in use", first, last)
}

// Adopt claims a port that already has its owner, such as a task that outlived its
// engine. It does not check whether the port is free.
func (c *Claims) Adopt(number int, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(number, by)
}

// Release ends the claim of a port.
func (c *Claims) Release(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(number)
}

// takeFree claims a port if nothing uses it.
func (c *Claims) takeFree(number int, by string) bool {
	if _, ok := c.held[number]; ok || c.rules.Reserves(number) || !c.logical && !untouched(number) {
		return false
	}
	return c.take(number, by) == nil
}

func (c *Claims) take(number int, by string) error {
	if holder, ok := c.held[number]; ok {
		return &InUseError{Port: number, By: holder.by}
	}
	lock, err := lock(c.dir, number, by)
	if err != nil {
		return err
	}
	c.held[number] = claim{by, lock}
	return nil
}

func (c *Claims) release(number int) {
	if holder, ok := c.held[number]; ok {
		unlock(holder.lock)
		delete(c.held, number)
	}
}
