variable "image" {
  type = string
}

locals {
  tag = "v${var.verison}"
}

job "web" {
	datacenters = "dc1"

  group "front" {
    count = "two"
    memory = 256

    task "nginx" {
      driver       = "docker"
      kill_timeout = "1d"
      config {
        image = "${var.image}:${locale.tag}" # a rather long comment, so that the line does not fit on the screen
        ports = [http, tostring(80)]
      }
      env {
        日本語 = [1]
      }
    }
  }
}
