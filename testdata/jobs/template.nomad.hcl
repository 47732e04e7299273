# A template that becomes the environment of a task.
job "template" {
  type = "batch"

  group "app" {
    network {
      port "http" {}
    }

    task "print" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo mode $MODE; cat local/app.conf"]
      }

      template {
        destination = "local/app.env"
        env         = true
        data        = "MODE={{ keyOrDefault \"app/mode\" \"debug\" }}"
      }

      template {
        destination = "local/app.conf"
        data        = "task {{ env \"NOMAD_TASK_NAME\" | toUpper }}\n"
      }
    }
  }
}
