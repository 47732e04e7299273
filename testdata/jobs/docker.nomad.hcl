# Two containers that share a network.
job "site" {
  group "site" {
    network {
      mode = "bridge"
      port "http" {
        to = 80
      }
    }

    task "web" {
      driver = "docker"

      config {
        image   = "nginx:1.27"
        volumes = ["local/site:/usr/share/nginx/html"]
      }

      template {
        destination = "local/site/index.html"
        data        = "<h1>Hello</h1>"
      }
    }

    task "cache" {
      driver = "docker"

      config {
        image = "redis:7"
      }
    }
  }
}
