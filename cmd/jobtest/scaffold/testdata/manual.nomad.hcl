job "manual" {
  group "app" {
    update {
      health_check = "manual"
    }
    restart {
      attempts = 20
      delay    = "3s"
      interval = "1m"
      mode     = "fail"
    }
    network {
      port "http" {}
    }
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
    }
    task "server" {
      driver = "docker"
      config {
        image = "x"
      }
    }
  }
}
