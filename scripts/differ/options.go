package main

import (
	"errors"
	"flag"
	"regexp"
	"time"
)

type options struct {
	nomad, taskrun, address string
	record, recorded        bool
	only                    *regexp.Regexp
	parallel                int
	settle                  time.Duration
	dir                     string
}

func parse(args []string) (opts options, err error) {
	f := flag.NewFlagSet("differ", flag.ContinueOnError)
	f.StringVar(&opts.nomad, "nomad", "nomad", "`path` of the nomad command")
	f.StringVar(&opts.taskrun, "taskrun", "taskrun", "`path` of the taskrun command")
	f.StringVar(&opts.address, "address", "", "`URL` of an agent in dev mode; default: one of its own")
	f.BoolVar(&opts.record, "record", false, "write what Nomad did to expected/")
	f.BoolVar(&opts.recorded, "recorded", false, "compare with expected/ instead of an agent")
	f.IntVar(&opts.parallel, "parallel", 4, "run so many jobs at a time")
	f.DurationVar(&opts.settle, "settle", 10*time.Second, "look at a job when nothing has happened for so long")
	only := f.String("run", "", "run only the jobs whose names match the `regexp`")
	if err := f.Parse(args); err != nil {
		return opts, err
	}
	if f.NArg() != 1 || opts.parallel < 1 {
		return opts, errors.New("usage: differ [options] DIR")
	}
	opts.dir = f.Arg(0)
	opts.only, err = regexp.Compile(*only)
	return opts, err
}
