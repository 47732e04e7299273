job "podman" {
  group "g" {
    task "blocks" {
      driver = "podman"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        image              = "docker://registry.example.com/shop/web:1.4"
        arch               = "arm64"
        os                 = "linux"
        variant            = "v8"
        image_pull_timeout = "10m"
        force_pull         = true
        auth_soft_fail     = true

        command     = "serve"
        args        = ["--port", "${PORT}"]
        entrypoint  = ["/entry", "-v"]
        working_dir = "/srv"
        hostname    = "web"
        init        = true
        init_path   = "/usr/bin/tini"
        tty         = false
        userns      = "keep-id"
        socket      = "default"

        network_mode = "bridge"
        ipv4_address = "10.88.0.9"
        ipv6_address = "fd00::9"
        static_ips   = ["10.88.0.10"]
        static_mac   = "02:42:ac:11:00:02"
        ports        = ["http"]
        extra_hosts  = ["db:10.0.0.2"]
        ipc_mode     = "private"

        apparmor_profile = "unconfined"
        cap_add          = ["SYS_TIME"]
        cap_drop         = ["MKNOD"]
        privileged       = false
        security_opt     = ["no-new-privileges"]
        selinux_opts     = ["type:spc_t"]

        cpu_hard_limit     = true
        cpu_cfs_period     = 50000
        memory_reservation = "100m"
        memory_swap        = "180m"
        memory_swappiness  = 60
        oom_score_adj      = 100
        pids_limit         = 64
        shm_size           = "128m"

        devices         = ["/dev/net/tun", "/dev/ttyUSB0:/dev/modem:r"]
        volumes         = ["/srv/data:/data:ro,noexec"]
        tmpfs           = ["/var"]
        readonly_rootfs = true

        auth {
          username   = "me"
          password   = "${SECRET}"
          tls_verify = false
        }
        logging {
          driver = "journald"
          options {
            tag = "web"
          }
        }
        labels {
          tier = "front"
        }
        sysctl {
          somaxconn = "16384"
        }
        ulimit {
          nofile = "2048:4096"
        }
      }
    }

    task "objects" {
      driver = "podman"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        image      = "web"
        entrypoint = "/entry"
        port_map   = { http = 80 }
        auth       = { username = "me" }
        logging    = { driver = "nomad", options = [{ tag = "web" }] }
        labels     = { "com.example/tier" = "front" }
        sysctl     = { "net.core.somaxconn" = "16384" }
        ulimit     = { nofile = "2048:4096" }
      }
    }
  }
}
