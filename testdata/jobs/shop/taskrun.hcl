# Stubs: what shop.nomad.hcl reads from a cluster, with values for a laptop.

variables {
  image_tag = "dev"
}

nomad_variable "nomad/jobs/shop" {
  db_password = "local"
}

consul_key "shop/greeting" {
  value = "Hello"
}

service "db" {
  address = "127.0.0.1"
  port    = 5432
}

task "server" {
  driver = "raw_exec" # instead of a container

  config {
    command = "/bin/sh"
    args    = ["-c", "echo \"$GREETING, the database is at $DB\""]
  }
}
