job "docker" {
  group "g" {
    task "blocks" {
      driver = "docker"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        image              = "registry.example.com/shop/web:1.4"
        image_pull_timeout = "10m"
        force_pull         = true
        auth_soft_fail     = true

        command    = "serve"
        args       = ["--port", "${PORT}", 8]
        entrypoint = ["/entry"]
        work_dir   = "/srv"
        hostname   = "${NAME}"

        network_mode    = "web"
        network_aliases = ["shop"]
        ipv4_address    = "172.20.0.5"
        ipv6_address    = "fd00::5"
        mac_address     = "02:42:ac:11:00:02"
        ports           = ["http"]
        extra_hosts     = ["db:10.0.0.2"]

        dns_servers        = ["10.0.0.1"]
        dns_search_domains = ["example.com"]
        dns_options        = ["ndots:1"]

        advertise_ipv6_address = false

        cap_add      = ["net_admin"]
        cap_drop     = ["all"]
        privileged   = false
        security_opt = ["no-new-privileges"]
        group_add    = ["audio"]

        cgroupns    = "private"
        ipc_mode    = "none"
        pid_mode    = "host"
        userns_mode = "host"
        uts_mode    = "host"
        isolation   = "process"
        runtime     = "runc"

        cpu_hard_limit    = true
        cpu_cfs_period    = 50000
        cpuset_cpus       = "0-3"
        memory_hard_limit = "512"
        oom_score_adj     = 100
        pids_limit        = 64
        shm_size          = 134217728

        container_exists_attempts = 3

        init            = true
        interactive     = true
        tty             = true
        readonly_rootfs = true

        volumes       = ["local/config:/etc/web", "/srv/data:/data:ro"]
        volume_driver = "pxd"

        auth {
          username       = "me"
          password       = "${SECRET}"
          email          = "me@example.com"
          server_address = "registry.example.com"
        }
        healthchecks {
          disable = true
        }
        logging {
          type   = "syslog"
          driver = "syslog"
          config {
            syslog-address = "udp://10.0.0.3:514"
          }
        }
        devices {
          host_path          = "/dev/ttyUSB0"
          container_path     = "/dev/modem"
          cgroup_permissions = "r"
        }
        devices {
          host_path = "/dev/null"
        }
        labels {
          tier = "front"
        }
        sysctl {
          somaxconn = "16384"
        }
        ulimit {
          nproc  = 4242
          nofile = "2048:4096"
        }
        storage_opt {
          size = "40G"
        }
        mount {
          type     = "volume"
          target   = "/var/lib/web"
          source   = "web-${NOMAD_ALLOC_INDEX}"
          readonly = false
          volume_options {
            no_copy = true
            labels {
              kept = "yes"
            }
            driver_config {
              name = "local"
              options {
                type = "tmpfs"
              }
            }
          }
        }
        mount {
          type     = "bind"
          target   = "/etc/localtime"
          source   = "/etc/localtime"
          readonly = "true"
          bind_options {
            propagation = "rslave"
          }
        }
      }
    }

    task "objects" {
      driver = "docker"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        image  = "archive"
        load   = "archive.tar"
        labels = { "com.example/tier" = "front", count = 3 }

        sysctl       = { "net.core.somaxconn" = "16384" }
        ulimit       = { nproc = "4242" }
        port_map     = { http = 80, admin = "${PORT}" }
        storage_opt  = { size = "40G" }
        auth         = { username = "me" }
        healthchecks = { disable = true }
        logging      = { type = "journald", config = { tag = "web" } }
        devices      = [{ host_path = "/dev/null" }, { host_path = "/dev/zero" }]
        mounts = [
          { type = "tmpfs", target = "/tmp", tmpfs_options = { size = 100000, mode = 511 } },
          { target = "/data", volume_options = { labels = { a = "b" }, driver_config = { options = { c = "d" } } } },
        ]
        mount = { type = "bind", source = "/x", target = "/x" }
      }
    }
  }
}
