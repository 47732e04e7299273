// Package jobtest reads job tests: *.nomadtest.hcl files, which say how the tasks
// of a job behave, what is ordered when, and what must be true of the run in the
// end. It reads and checks them; play carries them out, and assert judges them.
//
//	job   = "web.nomad.hcl"        # default: the job file with the same name, here or above tests/
//	stubs = "ci/taskrun.hcl"       # default: taskrun.hcl beside the job file
//	variables { image_tag = "x" }  # of the job, for every run
//
//	run "what is tested" {
//	  mode      = "virtual"        # or "real": real drivers and real time
//	  until     = "ended"          # or "running", "healthy", "2h"; not before the last order
//	  timeout   = "3h"
//	  snapshot  = "name"
//	  variables { image_tag = "y" }
//	  expect_failures = ["app/server", "web"] # tasks, allocations and checks that must fail
//
//	  task "app/server" {          # or "server", "app[0]/server": options of mock_driver,
//	    run_for = "20s"            # and stdout and stderr for stdout_string and stderr_string
//	    attempt "2" { run_for = "1h" } # instead, at the second start
//	  }
//	  check "web" {                # a service or a check: what it says from some time on
//	    status = "critical"        # failing, failure; passing, success
//	    after  = "30s"             # since its allocation began
//	    output = "refused"
//	  }
//	  at "45s" { stop = "app[0]/server" } # a task, an allocation, a group or, by its ID, the job
//	  at "50s" { restart = "app" }
//	  at "55s" {
//	    signal = "SIGHUP"
//	    target = "app/server"      # default: the whole job
//	  }
//	  at "1m" { update = "v2.nomad.hcl" }
//	  at "2m" { promote = true }
//	  at "3m" { scale = { app = 3 } }
//	  at "4m" { dispatch = { payload = "x", meta = { k = "v" } } } # or {}
//	  exec "app/server" {          # of a real run, once it has reached its until
//	    command = ["curl", "http://${NOMAD_ADDR_http}/"]
//	    timeout = "30s"
//	  }
//	  assert {
//	    condition     = task("app[0]/server").restarts == 3
//	    error_message = "restart policy changed"
//	  }
//	}
//
// Paths are relative to the test file. Conditions and messages may refer to run, exec,
// var and diagnostics, call all functions of job files, and those of Scope.
package jobtest
