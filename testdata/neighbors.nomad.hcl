# A task of root and two of other users share an allocation. Each of the two
# tries what it must not be able to do, and prints what it could do all the same.
variable "attack" {
  default = <<-EOT
    could() { echo "COULD $1"; }
    mine() { "$@" 2>/dev/null || echo "COULD NOT $*"; }
    until [ -s shared/script ]; do sleep 0.01; done # the last file that it tries
    # what a task may do
    mine touch file local/file tmp/file secrets/file "$NOMAD_ALLOC_DIR/data/$NOMAD_TASK_NAME" "$NOMAD_ALLOC_DIR/tmp/$NOMAD_TASK_NAME" "$NOMAD_ALLOC_DIR/$NOMAD_TASK_NAME"
    mine cat "$NOMAD_ALLOC_DIR/data/root" "$NOMAD_ALLOC_DIR/logs/root.stdout.0" secrets/template shared/script >/dev/null
    mine ls .. >/dev/null
    # what it may not
    for d in secrets private "$NOMAD_ALLOC_DIR/logs" "$NOMAD_ALLOC_DIR/data" "$NOMAD_ALLOC_DIR" ../root "../$NOMAD_TASK_NAME" "$NOMAD_ALLOC_DIR/data/root" shared/script; do
      mv "$d" "$d.old" 2>/dev/null && could "rename $d"
      rm -rf "$d" 2>/dev/null; [ -e "$d" ] || could "remove $d"
      chmod 777 "$d" 2>/dev/null && could "change the mode of $d"
    done
    for f in "$NOMAD_ALLOC_DIR/logs/root.stdout.0" "$NOMAD_ALLOC_DIR/data/root" ../root/local/server shared/script; do
      (echo evil >> "$f") 2>/dev/null && could "write $f"
    done
    for d in ../root ../root/local ../root/secrets private "$NOMAD_ALLOC_DIR/logs" ..; do
      (touch "$d/evil") 2>/dev/null && could "write in $d"
    done
    mkfifo "$NOMAD_ALLOC_DIR/logs/.root.stdout.purged" 2>/dev/null && could "make a FIFO among the logs"
    for d in ../root ../root/local ../root/secrets private; do
      ls "$d" >/dev/null 2>&1 && could "list $d"
      [ -x "$d" ] && could "enter $d"
    done
    echo READY
    exec sleep 1000
  EOT
}

job "neighbors" {
  type = "service"
  group "g" {
    volume "shared" {
      type   = "host"
      source = "shared"
    }
    volume "own" {
      type   = "host"
      source = "own"
    }
    task "root" {
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
      driver = "raw_exec"
      volume_mount {
        volume      = "shared"
        destination = "shared"
      }
      volume_mount {
        volume      = "own"
        destination = "own"
      }
      template {
        data        = "password"
        destination = "secrets/password"
      }
      config {
        command = "/bin/sh"
        args    = ["-c", <<-EOT
          umask 022
          mkdir local/bin; cp /bin/true local/server; cp /bin/true local/bin/sh
          echo data > $NOMAD_ALLOC_DIR/data/root; echo '#!/bin/sh' > shared/script; echo password > own/password
          echo READY; exec sleep 1000
        EOT
        ]
      }
    }
    task "nobody" {
      driver = "raw_exec"
      user   = "nobody"
      volume_mount {
        volume      = "shared"
        destination = "shared"
      }
      template {
        data        = "secret"
        destination = "secrets/template"
      }
      config {
        command = "/bin/sh"
        args    = ["-c", var.attack]
      }
    }
    task "daemon" {
      driver = "raw_exec"
      user   = "daemon"
      volume_mount {
        volume      = "shared"
        destination = "shared"
      }
      template {
        data        = "secret"
        destination = "secrets/template"
      }
      config {
        command = "/bin/sh"
        args    = ["-c", var.attack]
      }
    }
  }
}
