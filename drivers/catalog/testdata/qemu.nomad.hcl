job "qemu" {
  group "g" {
    task "t" {
      driver = "qemu"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        image_path        = "local/linux.img"
        emulator          = "qemu-system-aarch64"
        machine_type      = "virt"
        drive_interface   = "virtio"
        accelerator       = "kvm"
        graceful_shutdown = true
        guest_agent       = true
        args              = ["-nodefaults"]

        port_map {
          ssh = 22
        }
      }
    }
  }
}
