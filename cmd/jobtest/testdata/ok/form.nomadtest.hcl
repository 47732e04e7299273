job = "web.nomad.hcl"
variables {
  image_tag = "test"
  ports     = [80, 443]
}

run "everything of a virtual run" {
  until    = "2h"
  timeout  = "3h"
  snapshot = "form"
  variables { image_tag = upper("own") }
  task "worker/work" {
    start_error             = "no image"
    start_error_recoverable = true
    exec_command {
      run_for = "1s"
      stdout  = "done"
    }
    attempt "2" { stderr_string = "oh" }
    attempt "10" {
      exit_signal = 9
      kill_after  = "5s"
    }
  }
  task "server" {}
  check "web" { status = "passing" }
  check "web" {
    status = "failing"
    output = "refused"
    after  = "1m"
  }
  at "1h" { promote = true }
  at "2m" { restart = "app/server" }
  at "1m" { stop = "" }
  at "3m" {
    signal = "SIGHUP"
    target = "app/server"
  }
  at "4m" { update = "web.nomad.hcl" }
  at "5m" { scale = { worker = 4, app = 0 } }
  at "6m" { dispatch = {} }
  at "6m" {
    dispatch = {
      payload = "p"
      meta    = { a = "b", n = 1 }
    }
  }
  expect_failures = ["app/server", "web"]
  assert {
    condition = alltrue([
      for e in event("worker[1]/work") : e.at < duration("1h") && e.type != upper(e.message)
      if length(service("web")) > 0
    ])
  }
  assert {
    condition     = contains(task("server").events[*].type, "Started") && convert(run.exit_code, string) == "0"
    error_message = "it has ${length(event("app[0]/server"))} events"
  }
  assert { condition = (task("app[0]#1/server").env["A"] == "b" ? { a = run.status } : { a = "x" }).a == "${run.status}" }
}

run "the least" {}

run "a real one" {
  mode    = "real"
  until   = "running"
  timeout = "1m"
  exec "app/server" {
    command = ["true"]
    timeout = "5s"
  }
}
