// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/agent_bundle.h"

#include <fmt/core.h>

#include "backends/ssh/explain.h"
#include "backends/ssh/ssh.h"
#include "core/base/file.h"

namespace trainyard::ssh {
namespace {

using base::Result;

constexpr std::size_t kLineBytes = 200;
constexpr const char* kDirectory = "$HOME/.cache/trainyard/agents";

// Returns the first line of a short file; empty if there is no such file.
std::string line_of(const std::filesystem::path& file) {
  const auto text = base::read_file(file, kLineBytes);
  return text ? text->substr(0, text->find('\n')) : "";
}

// The script of the host. Its input is the archive. All it makes lies in a temporary directory
// until the agent has run, so that no partial copy is used.
std::string install_script(const AgentBundle& bundle) {
  return fmt::format(
      "set -e; umask 077; d=\"{0}\"; mkdir -p \"$d\"; t=$(mktemp -d \"$d/.new-XXXXXX\"); "
      "trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' HUP INT TERM PIPE; "
      "cat > \"$t/archive\"; "
      "s=$(sha256sum < \"$t/archive\"); [ \"${{s%% *}}\" = {1} ] || "
      "{{ echo 'the archive arrived incomplete or damaged'; exit 1; }}; "
      "mkdir \"$t/agent\"; tar -xzf \"$t/archive\" -C \"$t/agent\"; "
      "m=$(uname -m); [ \"$m\" = {2} ] || "
      "{{ echo \"the architecture of the host is $m, and that of the agent {2}\"; exit 1; }}; "
      "\"$t/agent/bin/trainyard-agent\" --version; "
      "[ -e \"$d/{3}\" ] || mv \"$t/agent\" \"$d/{3}\"",
      kDirectory, bundle.sha256, architecture(), bundle.name);
}

}  // namespace

std::string agent_hash(const std::filesystem::path& bin) {
  return line_of(bin.parent_path() / "agent" / "hash");
}

Result<AgentBundle> find_bundle(const std::filesystem::path& bin) {
  const std::filesystem::path directory = bin.parent_path() / "agent";
  const AgentBundle bundle{directory / "agent.tar.gz", line_of(directory / "archive.sha256"),
                           fmt::format("{}-{}", TRAINYARD_VERSION, agent_hash(bin))};
  std::error_code ignored;
  if (bundle.sha256.empty() || !std::filesystem::exists(bundle.archive, ignored))
    return base::fail({"no_agent_bundle", base::ProblemCode::unavailable, bundle.archive.string(),
                       "there is no bundle of the agent", "",
                       "Build Trainyard with packaging/run, which makes it."});
  return bundle;
}

std::vector<std::string> agent_command(const std::string& name,
                                       const std::filesystem::path& agent) {
  return {"sh", "-c",
          fmt::format("for a in \"{}/{}/bin/trainyard-agent\" {}; do "
                      "if [ -x \"$a\" ]; then exec \"$a\" --stdio \"$@\"; fi; done; "
                      "echo 'trainyard-agent {} is not installed on this host' >&2; exit 127",
                      kDirectory, name, quoted(agent.string()), name),
          "trainyard-agent"};
}

Result<void> copy_agent(const std::string& destination, const AgentBundle& bundle,
                        const Progress& progress) {
  Command command{"ssh", arguments_of({destination, {"sh", "-c", install_script(bundle)}, ""}),
                  bundle.archive, progress};
  const auto result = run(command);
  if (!result) return base::fail(result.error());
  if (result->exit_code == 0) return {};
  if (auto known = explain(destination, result->printed)) return base::fail(std::move(*known));
  return base::fail({"agent_not_copied", base::ProblemCode::failed, destination,
                     fmt::format("the agent could not be copied; the host printed: {}",
                                 last_line(result->printed)),
                     "", "Correct this on the host, and try again."});
}

}  // namespace trainyard::ssh
