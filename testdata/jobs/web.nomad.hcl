# A service that runs until it is stopped:
# taskrun up testdata/jobs/web.nomad.hcl

variable "greeting" {
  default = "Hello"
}

job "web" {
  group "app" {
    shutdown_delay = "100ms"

    network {
      port "http" {}
    }

    update {
      min_healthy_time = "100ms"
      auto_revert      = true
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"
    }

    task "web" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo ${var.greeting}; exec sleep 3600"]
      }

      template {
        destination = "secrets/key"
        data        = "not for others"
      }
    }
  }
}
