// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/host_key.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "backends/ssh/command.h"
#include "backends/ssh/explain.h"
#include "backends/ssh/ssh.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace trainyard::ssh {
namespace {

using base::Result;

constexpr std::size_t kKeyBytes = std::size_t{64} << 10;

base::Problem failed(const std::string& destination, const std::string& printed) {
  if (auto known = explain(destination, printed)) return std::move(*known);
  return {"host_unreachable",
          base::ProblemCode::unavailable,
          destination,
          fmt::format("ssh failed: {}", last_line(printed)),
          "",
          "Try the connection with ssh."};
}

// Returns the first file of known hosts that ssh uses for this host.
Result<std::filesystem::path> known_hosts_file(const std::string& destination) {
  const auto result = run({"ssh", {"-G", "--", destination}});
  if (!result) return base::fail(result.error());
  std::istringstream lines(result->printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, file;
    if (words >> name >> file && name == "userknownhostsfile") return file;
  }
  return base::fail(failed(destination, result->printed));
}

}  // namespace

Result<HostKey> fetch_host_key(const std::string& destination) {
  auto directory = PrivateDirectory::make();
  if (!directory) return base::fail(directory.error());
  const std::string file = (*directory / "known_hosts").string();
  std::vector<std::string> arguments{
      "-o", "StrictHostKeyChecking=accept-new", "-o", "UserKnownHostsFile=" + file,
      "-o", "GlobalKnownHostsFile=/dev/null",   "-o", "HashKnownHosts=no",
      "-o", "PreferredAuthentications=none"};
  const auto common = arguments_of({destination, {"true"}, ""});
  arguments.insert(arguments.end(), common.begin(), common.end());
  const auto connected = run({"ssh", arguments});
  if (!connected) return base::fail(connected.error());
  const auto lines = base::read_file(file, kKeyBytes);
  if (!lines || lines->empty()) return base::fail(failed(destination, connected->printed));
  const auto described = run({"ssh-keygen", {"-l", "-f", file}});
  if (!described) return base::fail(described.error());
  // "256 SHA256:... NAME (ED25519)"
  std::istringstream words(described->printed);
  HostKey key{.fingerprint = "", .kind = "", .lines = *lines};
  std::string bits;
  if (!(words >> bits >> key.fingerprint) || !key.fingerprint.starts_with("SHA256:"))
    return base::fail(failed(destination, described->printed));
  for (std::string word; words >> word && key.kind.empty();)
    if (word.starts_with('(') && word.ends_with(')')) key.kind = word.substr(1, word.size() - 2);
  return key;
}

Result<void> trust(const std::string& destination, const HostKey& key) {
  const auto file = known_hosts_file(destination);
  if (!file) return base::fail(file.error());
  std::error_code ignored;
  if (std::filesystem::create_directories(file->parent_path(), ignored))
    std::filesystem::permissions(file->parent_path(), std::filesystem::perms::owner_all, ignored);
  const base::Descriptor out(
      ::open(file->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (out.get() < 0 || ::write(out.get(), key.lines.data(), key.lines.size()) !=
                           static_cast<ssize_t>(key.lines.size()))
    return base::fail(base::system_problem(file->string(), "cannot add the host key", errno));
  return {};
}

}  // namespace trainyard::ssh
