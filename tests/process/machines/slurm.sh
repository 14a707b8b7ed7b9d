#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A Slurm cluster of two nodes on this machine, for tests. Needs root.
#   slurm.sh DIRECTORY PORT PORT PORT
# Starts munged, slurmctld and two slurmd, whose files are in DIRECTORY and which listen at the ports
# of the loopback interface, prints "ready", and ends when its standard input closes.
# Commands of the cluster: SLURM_CONF=DIRECTORY/slurm.conf salloc --nodes=2 COMMAND
set -euo pipefail

directory=$1 controller=$2 first=$3 second=$4
mkdir -p "$directory"/{state,log}
chmod 755 "$directory" "$directory/log"
cd "$directory"

head -c 1024 /dev/urandom > munge.key
chmod 400 munge.key
cat > slurm.conf <<CONFIGURATION
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$controller
AuthType=auth/munge
AuthInfo=socket=$directory/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmUser=root
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool-%n
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd-%n.pid
SlurmctldLogFile=$directory/log/slurmctld
SlurmdLogFile=$directory/log/slurmd-%n
ReturnToService=2
NodeName=node1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$first CPUs=1 State=UNKNOWN
NodeName=node2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$second CPUs=1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP
CONFIGURATION
export SLURM_CONF=$directory/slurm.conf

pids=()
end() {
  kill "${pids[@]}" 2>/dev/null || true
  wait || true
}
trap end EXIT

munged --foreground --force --key-file="$directory/munge.key" --socket="$directory/munge.socket" \
  --pid-file="$directory/munged.pid" --log-file="$directory/log/munged" \
  --seed-file="$directory/munge.seed" &
pids+=($!)
slurmctld -D > log/slurmctld.out 2>&1 &
pids+=($!)
for node in node1 node2; do
  slurmd -D -N "$node" > "log/$node.out" 2>&1 &
  pids+=($!)
done

for _ in $(seq 300); do
  if [ "$(sinfo --noheader --states=idle --format=%D 2>/dev/null)" = 2 ]; then
    echo ready
    cat > /dev/null
    exit
  fi
  sleep 0.1
done
echo "the nodes did not become idle" >&2
tail -n 5 log/* >&2
exit 1
