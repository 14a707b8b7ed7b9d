# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines for scripts: network namespaces with real ssh servers (machines.sh). Needs root."""
import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent / "machines.sh"


class Machines:
    """Machines m1 to m`count`, and m0, the coordinator's."""

    def __init__(self, binaries, count):
        self.binaries = binaries
        self.directory = tempfile.TemporaryDirectory(prefix="trainyard-bench-")
        self.process = subprocess.Popen(
            [SCRIPT, f"{self.directory.name}/m", str(count), str(binaries)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("ready"):
                self.pid = line.split()[1]
                break
        else:
            sys.exit("the machines did not start; are you root?")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.directory.cleanup()

    def files(self):
        """The directory that is /mnt on m0."""
        return pathlib.Path(self.directory.name) / "m/m0"

    def on_coordinator(self, *command):
        """Runs a program on m0."""
        return subprocess.run(
            ["nsenter", "--target", self.pid, "--all", "env", "--chdir=/mnt", "HOME=/mnt/home",
             "XDG_DATA_HOME=/mnt/data", "XDG_RUNTIME_DIR=/run", *command],
            capture_output=True, text=True, timeout=300)

    def cli(self, *arguments):
        """Returns what trainyard-cli prints on m0."""
        done = self.on_coordinator(f"{self.binaries}/trainyard-cli", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"trainyard-cli {' '.join(arguments)} failed:\n{done.stderr}")
        return done.stdout

    def run(self, document, *settings):
        """Returns the result of a run."""
        (self.files() / "experiment.json").write_text(json.dumps(document))
        out = self.cli("run", "/mnt/experiment.json", "--json", *settings)
        return json.loads(out.splitlines()[-1])
