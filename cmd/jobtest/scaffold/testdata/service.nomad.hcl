job "web" {
  group "app" {
    count = 2
    network {
      port "http" {}
    }
    restart {
      attempts = 3
      interval = "10m"
      delay    = "15s"
      mode     = "fail"
    }
    service {
      name = "web"
      port = "http"
      check {
        name     = "up"
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"
      }
      check {
        name     = "restarts"
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
        check_restart {
          limit = 3
          grace = "30s"
        }
      }
    }
    task "migrate" {
      driver = "raw_exec"
      config {
        command = "migrate"
      }
      lifecycle {
        hook = "prestart"
      }
    }
    task "agent" {
      driver = "raw_exec"
      config {
        command = "agent"
      }
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
    }
    task "server" {
      driver       = "raw_exec"
      kill_timeout = "20s"
      config {
        command = "server"
      }
    }
    task "helper" {
      driver = "raw_exec"
      config {
        command = "helper"
      }
      restart {
        attempts = 1
        mode     = "delay"
      }
    }
    task "tell" {
      driver = "raw_exec"
      config {
        command = "tell"
      }
      lifecycle {
        hook = "poststart"
      }
    }
    task "clean" {
      driver = "raw_exec"
      config {
        command = "clean"
      }
      lifecycle {
        hook = "poststop"
      }
    }
  }
}
