variable "image_tag" {}

job "web" {
  group "app" {
    count = 1
    network {
      port "http" {}
    }
    restart {
      attempts = 3
      mode     = "fail"
    }
    service {
      name     = "web"
      port     = "http"
      provider = "nomad"
      check {
        name     = "alive"
        type     = "http"
        path     = "/"
        interval = "10s"
        timeout  = "2s"
      }
    }
    task "server" {
      driver = "docker"
      config {
        image = "web:${var.image_tag}"
        ports = ["http"]
      }
      template {
        data        = "x"
        destination = "${NOMAD_TASK_DIR}/web.conf"
      }
    }
  }
  group "worker" {
    count = 2
    task "work" {
      driver = "docker"
      config {
        image = "worker"
      }
    }
  }
}
