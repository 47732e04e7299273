job "leader" {
  group "app" {
    update {
      health_check      = "task_states"
      healthy_deadline  = "1h"
      progress_deadline = "2h"
    }
    restart {
      attempts = 1
      delay    = "30m"
      interval = "3h"
      mode     = "fail"
    }
    network {
      port "http" {}
    }
    task "helper" {
      driver = "docker"
      config {
        image = "x"
      }
    }
    task "server" {
      driver = "docker"
      config {
        image = "x"
      }
      leader       = true
      kill_timeout = "2m"
      service {
        name     = "web"
        port     = "http"
        provider = "nomad"
        check {
          name     = "alive"
          type     = "http"
          path     = "/health"
          interval = "10s"
          timeout  = "2s"
        }
        check {
          name      = "ready"
          type      = "tcp"
          interval  = "10s"
          timeout   = "2s"
          on_update = "ignore"
        }
        check {
          name     = "restarts"
          type     = "tcp"
          interval = "10s"
          timeout  = "2s"
          check_restart {
            limit = 3
            grace = "5s"
          }
        }
      }
    }
    task "clean-up" {
      driver = "docker"
      config {
        image = "x"
      }
      lifecycle {
        hook = "poststop"
      }
    }
  }
}
