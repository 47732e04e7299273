// Command crash kills the engines of runs repeatedly at random moments, and checks
// that nothing was lost, done twice, or left behind:
//
//	go run ./scripts/crash [-n 200] [-seed 1] [-taskrun PATH]
//	go run ./scripts/crash -agent [-n 200] [-seed 1] [-taskrun PATH]
//	go run ./scripts/crash -output 1024 [-rate 1] [-seed 1] [-taskrun PATH]
//
// The second form gives an agent random orders for 20 jobs meanwhile. The third
// form uses a single task that writes the given number of MiB, and checks that a
// follower that reads RATE MiB per second receives them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	n := flag.Int("n", 200, "rounds")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random moments")
	program := flag.String("taskrun", "", "the program; without it is built")
	agent := flag.Bool("agent", false, "kill an agent with jobs, instead of runs")
	output := flag.Int("output", 0, "of one task in `MiB`, instead of rounds")
	rate := flag.Int("rate", 1, "of its follower, in `MiB` a second")
	write := flag.Int("write", 0, "be that task, with so many `MiB`")
	flag.Parse()
	play := playRound
	if *agent {
		play = playAgentRound
	}
	var err error
	if *write > 0 {
		err = writeText(*write)
	} else {
		err = crash(*n, *output, *rate, *seed, *program, play)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

// crash plays rounds with a program, which it builds unless it is given.
func crash(n, output, rate int, seed uint64, program string, play playFunc) error {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		interrupted.Store(true)
		killBelow(dir)
		os.RemoveAll(dir)
		os.Exit(130)
	}()
	if program == "" {
		program = filepath.Join(dir, "taskrun")
		if err := build(program); err != nil {
			return err
		}
	}
	if output > 0 {
		return largeOutput(dir, program, output, rate, rand.New(rand.NewPCG(seed, 0)))
	}
	return rounds(dir, n, seed, program, play)
}

// interrupted is set once a signal ends the program: no further round begins.
var interrupted atomic.Bool

// killBelow kills all processes of the rounds in a folder, again and again until none
// comes back: keepers start engines, and rounds start commands.
func killBelow(dir string) {
	for quiet := 0; quiet < 5; quiet++ {
		pids := processesWith("CRASH_ROUND=" + dir + "/")
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
			quiet = 0
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// build builds taskrun at a path.
func build(path string) error {
	if out, err := exec.Command("go", "build", "-o", path, "taskrun").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// atOnce is how many rounds are played concurrently: most of a round is
// waiting.
const atOnce = 8

func rounds(dir string, n int, seed uint64, program string, play playFunc) error {
	fmt.Printf("%d rounds, -seed %d\n", n, seed)
	var group sync.WaitGroup
	errs, free := make([]error, n), make(chan struct{}, atOnce)
	for i := range n {
		free <- struct{}{}
		if interrupted.Load() {
			select {} // until the program exits
		}
		group.Go(func() {
			defer func() { <-free }()
			kills := 0
			r, err := newRound(filepath.Join(dir, fmt.Sprint("r", i)), program, rand.New(rand.NewPCG(seed, uint64(i))))
			if err == nil {
				kills, err = play(r, i)
			}
			if err == nil {
				err = os.RemoveAll(r.dir)
			}
			if err != nil {
				errs[i] = fmt.Errorf("round %d of -seed %d, after %d kills: %w", i, seed, kills, err)
				fmt.Println("failed:", errs[i])
				return
			}
			fmt.Printf("round %d: %d kills\n", i, kills)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
