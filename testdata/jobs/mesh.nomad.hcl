# A shop of three groups that reach each other through upstreams, as in a service
# mesh: taskrun up testdata/jobs/mesh.nomad.hcl

variables {
  db_port  = 15490 # where api finds db
  api_port = 18090 # where web finds api
}

locals {
  # A server that passes requests on to an upstream, if it has one.
  server = <<-EOF
    import http.server, os, urllib.request

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            code, text = 200, os.environ["NOMAD_GROUP_NAME"]
            if "UPSTREAM" in os.environ:
                try:
                    with urllib.request.urlopen("http://" + os.environ["UPSTREAM"]) as answer:
                        text += " > " + answer.read().decode()
                except OSError as error:
                    code, text = 502, text + ": " + str(error)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args):
            pass

    at = ("127.0.0.1", int(os.environ["NOMAD_PORT_http"]))
    http.server.ThreadingHTTPServer(at, Handler).serve_forever()
  EOF
}

job "mesh" {
  update {
    min_healthy_time = "100ms"
    health_check     = "task_states" # web may go on while db is scaled to 0
  }

  group "db" {
    network {
      mode = "bridge"
      port "http" {}
    }

    service {
      name = "db"
      port = "http"

      connect {
        sidecar_service {}
      }
    }

    task "db" {
      driver = "raw_exec"

      config {
        command = "python3"
        args    = ["local/server.py"]
      }

      template {
        destination = "local/server.py"
        data        = local.server
      }
    }
  }

  group "api" {
    count = 2

    network {
      mode = "bridge"
      port "http" {}
    }

    service {
      name = "api"
      port = "http"

      connect {
        sidecar_service {
          proxy {
            upstreams {
              destination_name = "db"
              local_bind_port  = var.db_port
            }
          }
        }
      }
    }

    task "api" {
      driver = "raw_exec"

      env {
        UPSTREAM = "${NOMAD_UPSTREAM_ADDR_db}"
      }

      config {
        command = "python3"
        args    = ["local/server.py"]
      }

      template {
        destination = "local/server.py"
        data        = local.server
      }
    }
  }

  group "web" {
    network {
      mode = "bridge"
      port "http" {}
    }

    service {
      name = "web"
      port = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "1s"
        timeout  = "5s"
      }

      connect {
        sidecar_service {
          proxy {
            upstreams {
              destination_name = "api"
              local_bind_port  = var.api_port
            }
          }
        }
      }
    }

    task "web" {
      driver = "raw_exec"

      env {
        UPSTREAM = "${NOMAD_UPSTREAM_ADDR_api}"
      }

      config {
        command = "python3"
        args    = ["local/server.py"]
      }

      template {
        destination = "local/server.py"
        data        = local.server
      }
    }
  }
}
