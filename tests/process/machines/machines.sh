#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Machines for tests, without virtual machines: the coordinator's (m0) and COUNT others (m1, m2, ...)
# in one Ethernet, 10.91.0.K and fd91::K. Each has its own network, processes, host name, users,
# /run, /tmp and home directory (/mnt/home, of the user "student"), and all but m0 have an sshd that
# accepts the key of m0. Needs root. Files of machine K that tests read: DIRECTORY/mK.
#   machines.sh DIRECTORY COUNT [HIDDEN]     all but m0 see an empty directory at HIDDEN
# Prints "ready PID": `nsenter --target PID --all COMMAND` runs a command on m0. All ends with
# standard input.
set -euo pipefail

readonly self=$(readlink -f "$0")

# Gives the machine its own users, /run, /mnt, and names of all machines.
furnish() {
  local directory=$1 count=$2 number=$3 home=$1/m$3
  mount --make-rprivate /
  mkdir -p "$home/home/.ssh" "$home/tmp"
  { grep -v '^student:' /etc/passwd | sed "s@^root:x:0:0:\([^:]*\):[^:]*:@root:x:0:0:\1:/mnt/home:@"
    echo "student:x:1777:1777::/mnt/home:/bin/sh"; } >"$home/passwd"
  { echo "127.0.0.1 localhost"
    for ((k = 0; k <= count; ++k)); do echo "10.91.0.$((k + 1)) m$k"; done; } >"$home/hosts"
  mount --bind "$home/passwd" /etc/passwd
  mount --bind "$home/hosts" /etc/hosts
  mount --bind "$home" /mnt
  mount -t tmpfs -o mode=755 run /run
  mkdir -p /run/sshd
  hostname "m$number"
  ip link set lo up
}

# The life of machine NUMBER, whose network the coordinator's machine connects.
machine() {
  local number=$3
  furnish "$@"
  if [ -n "${4:-}" ]; then mount -t tmpfs -o mode=755 hidden "$4"; fi
  chmod 1777 /mnt/tmp
  mount --bind /mnt/tmp /tmp
  chown -R 1777:1777 /mnt/home
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
  ip address add "10.91.0.$((number + 1))/24" dev eth0
  ip address add "fd91::$((number + 1))/64" dev eth0 nodad
  ip link set eth0 up
  exec /usr/sbin/sshd -D -E /mnt/sshd.log -f /dev/null -h /mnt/host_key -o UsePAM=no \
    -o StrictModes=no -o PermitRootLogin=yes -o PasswordAuthentication=no -o MaxStartups=100 \
    -o KbdInteractiveAuthentication=no -o PidFile=none -o AuthorizedKeysFile=/mnt/authorized_keys
}

# The coordinator's machine: starts the others, and connects all to one switch.
coordinator() {
  local directory=$1 count=$2 pid
  furnish "$directory" "$count" 0
  ssh-keygen -q -t ed25519 -N '' -f /mnt/home/.ssh/id_ed25519
  ip link add switch type bridge
  ip address add 10.91.0.1/24 dev switch
  ip address add fd91::1/64 dev switch nodad
  ip link set switch up
  for ((k = 1; k <= count; ++k)); do
    mkdir -p "$directory/m$k"
    ssh-keygen -q -t ed25519 -N '' -f "$directory/m$k/host_key"
    cp /mnt/home/.ssh/id_ed25519.pub "$directory/m$k/authorized_keys"
    echo "m$k,10.91.0.$((k + 1)),fd91::$((k + 1)) $(cut -d ' ' -f 1-2 "$directory/m$k/host_key.pub")"
    # The monotonic clock of machine mK is K hours ahead, if the kernel can do that.
    clock=(--time --monotonic $((3600 * k)))
    unshare "${clock[@]}" true 2>/dev/null || clock=()
    unshare "${clock[@]}" --mount --net --uts --ipc --pid --fork --mount-proc --kill-child \
      bash "$self" machine "$directory" "$count" "$k" "${3:-}" </dev/null >&2 &
    pid=$!
    until [ -n "$(pgrep -P "$pid" || true)" ]; do sleep 0.02; done
    ip link add "port$k" type veth peer name eth0 netns "$(pgrep -P "$pid")"
    ip link set "port$k" master switch up
  done >/mnt/home/.ssh/known_hosts
  printf 'Host *\n  User student\n' >/mnt/home/.ssh/config
  for ((k = 1; k <= count; ++k)); do
    until ssh -o BatchMode=yes "m$k" true 2>/dev/null; do sleep 0.05; done
  done
  echo "ready"
  cat >/dev/null
}

case $1 in
  machine | coordinator) "$@" ;;
  *)
    # The first process of a PID namespace takes all others with it.
    coproc world { exec unshare --mount --net --uts --ipc --pid --fork --mount-proc --kill-child \
      bash "$self" coordinator "$@"; }
    # shellcheck disable=SC2154  # set by coproc
    read -r line <&"${world[0]}"
    echo "$line $(pgrep -P "$world_PID")"
    cat >/dev/null
    kill -KILL "$world_PID"
    ;;
esac
