// Package stub reads the stubs file: local values that replace those of a
// cluster, so that a job file written for production runs unchanged.
//
//	variables {                              # of the job file, unless --var or a file sets them
//	  image_tag = "dev"
//	}
//	nomad_variable "nomad/jobs/web" {        # path, or path@namespace
//	  db_password = "secret"
//	}
//	consul_key "web/greeting" {
//	  value = "hello"
//	}
//	vault_secret "kv/data/web" {             # "data" after the mount: KV version 2
//	  api_key = file("api_key.txt")
//	}
//	service "db" {                           # runs elsewhere; several with one name are instances
//	  address = "127.0.0.1"
//	  port    = 5432
//	}
//	host_volume "certs" {
//	  path = "./certs"
//	}
//	artifact "s3::https://host/b/app.tgz" {  # with this source; also: options, headers
//	  source = "./dist/app.tgz"
//	}
//	node {
//	  class      = "ssd"
//	  meta       = { rack = "r1" }
//	  attributes = { "driver.docker" = "1" }
//	}
//	vault  { token = "local" }               # for tasks with a vault block
//	consul { token = "local" }
//	group "web/app" {                        # or "app"
//	  count = 1
//	  port "http" { static = 0 }             # any free one; also: constraint, resources
//	}
//	task "web/app/server" {                  # or a shorter suffix: "app/server", "server"
//	  driver = "raw_exec"
//	  config {
//	    command = "./server"
//	  }
//	  env {
//	    LOG_LEVEL = "debug"
//	  }
//	  rehearse {                             # behavior in a rehearsal
//	    run_for   = "2s"
//	    exit_code = 0
//	  }
//	  watch {                                # with --watch
//	    paths     = ["**/*.go"]              # from the folder of this file
//	    ignore    = ["vendor"]
//	    build     = ["go", "build", "-o", "server", "."]
//	    on_change = "restart"                # or signal (with change_signal), noop
//	  }
//	}
//
// Values may call the functions of job files; relative paths start in the folder
// of the file. There are two more functions: env("NAME"), and TODO("name") for a
// value that is still to be filled in. Only a group or a task block may contain
// references: it is part of a job file,
// so it may use everything that is known when the task runs.
package stub
