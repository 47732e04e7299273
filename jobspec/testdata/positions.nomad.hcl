job "p" {
  region = "eu"
  meta {
    owner = "me"
  }
  vault {
    role = "outer"
  }
  task "bare" {
    driver = "mock_driver"
  }
  secret "s" {
    provider = "nomad"
    path     = "job"
  }
  group "g" {
    count = 1 + 1
    meta  = { "a.b" = "dotted" }
    network {
      mode = "bridge"
      port "http" {
        static = 8080
      }
      port "db" {}
    }
    volume "data" {
      type   = "host"
      source = "src"
      mount_options {
        fs_type = "ext4"
      }
    }
    dynamic "service" {
      for_each = ["one", "two"]
      content {
        name = service.value
        check {
          type = "tcp"
        }
      }
    }
    scaling {
      max = 3
    }
    task "t" {
      driver = "docker"
      config {
        image = "nginx"
        args  = ["-c", upper("x")]
        labels = {
          tier = "front"
        }
        mount {
          type = "bind"
        }
        mount "x" {
          type = "volume"
        }
      }
      env {
        A = "1"
      }
      identity {
        name = "named"
        ttl  = "1h"
      }
      identity {
        env = true
      }
      identity {
        name = "last"
      }
      scaling "cpu" {
        max = 5
      }
      resources {
        device "gpu" {
          count = 2
          constraint {
            attribute = "${device.attr.x}"
            value     = "1"
          }
        }
      }
    }
  }
}
