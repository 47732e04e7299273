# A job with a task of every kind, which ends by itself after three seconds:
# taskrun up testdata/jobs/hello.nomad.hcl

variable "greeting" {
  type    = string
  default = "Hello"
}

job "hello" {
  type = "batch"

  group "app" {
    # Runs to its end before anything else starts.
    task "migrate" {
      driver = "raw_exec"

      lifecycle {
        hook = "prestart"
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-EOT
          for table in users orders; do
            echo "creating table $table"
            echo "$table" >> "$NOMAD_ALLOC_DIR/data/tables"
          done
        EOT
        ]
      }
    }

    # Runs beside the others for as long as there is something to accompany.
    task "watch" {
      driver = "raw_exec"

      lifecycle {
        hook    = "prestart"
        sidecar = true
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-EOT
          while sleep 1; do
            echo "watching over $NOMAD_GROUP_NAME"
          done
        EOT
        ]
      }
    }

    task "web" {
      driver = "raw_exec"

      env {
        GREETING = var.greeting
      }

      config {
        command = "/bin/sh"
        args = ["-c", <<-EOT
          echo "$GREETING from task $NOMAD_TASK_NAME of job $NOMAD_JOB_NAME"
          while read -r table; do
            echo "serving table $table"
            sleep 1
          done < "$NOMAD_ALLOC_DIR/data/tables"
          echo "that was all" >&2
        EOT
        ]
      }
    }

    # Runs once the main tasks have started.
    task "warm-up" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo warming the cache; sleep 1; echo warm"]
      }
    }

    # Runs when all others have ended, however they did.
    task "clean-up" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststop"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "rm -f \"$NOMAD_ALLOC_DIR/data/tables\" && echo swept"]
      }
    }
  }
}
