# web.nomadtest.hcl, beside web.nomad.hcl or in tests/
job   = "web.nomad.hcl"                       # default: the job file with the same name
stubs = "ci/taskrun.hcl"                      # default: as in up
variables { image_tag = "test" }              # for every run below

run "a crashing server is restarted three times, then replaced" {
  task "app/server" {                         # how the mock plays this task; default: main service tasks run until stopped, the others succeed
    run_for   = "20s"
    exit_code = 1
    stdout    = "listening\n"
    attempt "2" { run_for = "1h" }            # the second start behaves differently
  }
  check "web" {
    status = "critical"
    after  = "30s"
  }
  at "45s" { stop = "app[0]/server" }         # also restart, signal, dispatch, update = "v2.nomad.hcl", scale, promote
  until = "ended"                             # or "running", "healthy", "2h"

  assert {
    condition     = task("app[0]/server").restarts == 3
    error_message = "restart policy changed"
  }
  assert { condition = event("app[0]/server", "Restarting")[2].at < duration("2m") }
  assert { condition = run.status == "failed" && run.exit_code == 1 }
}

run "answers" {
  mode  = "real"                              # real drivers and real time; the default is "virtual"
  until = "healthy"
  exec "app/server" { command = ["curl", "-fsS", "http://${NOMAD_ADDR_http}/"] }
  assert { condition = exec["app/server"].exit_code == 0 && strcontains(exec["app/server"].stdout, "Hello") }
}
