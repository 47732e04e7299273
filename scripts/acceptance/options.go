package main

import (
	"errors"
	"flag"
	"regexp"
	"time"
)

type options struct {
	api, provider   string
	taskrun, nomad  string
	only            *regexp.Regexp
	all             bool
	parallel        int
	timeout         time.Duration
	results, expect string
}

func parse(args []string) (opts options, err error) {
	f := flag.NewFlagSet("acceptance", flag.ContinueOnError)
	f.StringVar(&opts.api, "api", "", "`folder` of Nomad's source")
	f.StringVar(&opts.provider, "provider", "", "`folder` of the Terraform provider's source")
	f.StringVar(&opts.taskrun, "taskrun", "", "`path` of the taskrun command; default: build it")
	f.StringVar(&opts.nomad, "nomad", "", "`path` of a real nomad command, to run the suites with that instead")
	f.BoolVar(&opts.all, "all", false, "also run the tests that are left out")
	f.IntVar(&opts.parallel, "parallel", 4, "run so many tests at a time")
	f.DurationVar(&opts.timeout, "timeout", 3*time.Minute, "of a test")
	f.StringVar(&opts.results, "results", "", "write the outcomes to this `file`")
	f.StringVar(&opts.expect, "expect", "", "compare the outcomes with this `file`")
	only := f.String("run", "", "run only the tests whose names match the `regexp`")
	if err := f.Parse(args); err != nil {
		return opts, err
	}
	if f.NArg() != 0 || opts.api+opts.provider == "" || opts.parallel < 1 {
		return opts, errors.New("usage: acceptance -api DIR -provider DIR [options]")
	}
	opts.only, err = regexp.Compile(*only)
	return opts, err
}
