# A job made for a cluster. taskrun.hcl beside it has what the cluster would
# provide: taskrun up testdata/jobs/shop/shop.nomad.hcl

variable "image_tag" {
  type = string
}

job "shop" {
  type = "batch"

  group "app" {
    task "server" {
      driver = "docker"

      config {
        image = "registry.example.com/shop:${var.image_tag}"
      }

      template {
        destination = "secrets/app.env"
        env         = true
        data        = <<-EOF
          {{ with nomadVar "nomad/jobs/shop" }}DB_PASSWORD={{ .db_password }}{{ end }}
          GREETING={{ key "shop/greeting" }}
          {{ range service "db" }}DB={{ .Address }}:{{ .Port }}{{ end }}
        EOF
      }
    }
  }
}
