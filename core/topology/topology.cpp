// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/names.h"
#include "core/base/printable.h"

namespace trainyard::topology {
namespace {

using base::Problem;
using base::ProblemCode;

// Collects names with their paths in the document, and the host of each device.
class NameCheck {
 public:
  explicit NameCheck(base::Problems& problems) : problems_(problems) {}

  void add(const std::string& name, const std::string& path, int host_of_device = -1) {
    if (name.empty())
      problems_.push_back({"empty_name", ProblemCode::bad_input, path + ".name",
                           "the name is empty", "a name of 1 to 64 characters", "Enter a name."});
    if (base::has_control_characters(name))
      problems_.push_back({"control_character", ProblemCode::bad_input, path + ".name",
                           fmt::format("the name \"{}\" contains a control character", name),
                           "printable characters", "Remove the control character."});
    const auto [at, fresh] = seen_.emplace(name, NameUse{path, host_of_device});
    if (!fresh && !name.empty())
      problems_.push_back({"duplicate_name", ProblemCode::bad_input, path + ".name",
                           fmt::format("the name \"{}\" is also used by {}", name, at->second.path),
                           "a unique name", "Rename one of the two."});
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, use] : seen_) names.push_back(name);
    std::ranges::sort(names);
    return names;
  }

  // Returns the host index of a device; -1 for hosts and switches, -2 for unknown names.
  int host_of(const std::string& name) const {
    const auto at = seen_.find(name);
    return at == seen_.end() ? -2 : at->second.host_of_device;
  }

 private:
  struct NameUse {
    std::string path;
    int host_of_device;
  };
  base::Problems& problems_;
  std::unordered_map<std::string, NameUse> seen_;
};

std::string indexed(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string advice_for_end(const NameCheck& names, const std::string& end) {
  const std::string guess = end.empty() ? "" : base::nearest_name(end, names.names());
  return guess.empty() ? "Draw that object, or delete the link."
                       : fmt::format("Did you mean \"{}\"?", guess);
}

void check_end(const NameCheck& names, const std::string& end, const std::string& path,
               base::Problems& problems) {
  if (names.host_of(end) == -2)
    problems.push_back(
        {"unknown_link_end", ProblemCode::bad_input, path,
         end.empty() ? "is empty or missing" : fmt::format("there is no object named \"{}\"", end),
         "the name of a host, switch or device", advice_for_end(names, end)});
}

void check_link(const NameCheck& names, const Link& link, const std::string& path,
                base::Problems& problems) {
  check_end(names, link.from, path + ".from", problems);
  check_end(names, link.to, path + ".to", problems);
  if (link.from == link.to && !link.from.empty())
    problems.push_back({"link_to_itself", ProblemCode::bad_input, path,
                        fmt::format("the link connects \"{}\" with itself", link.from),
                        "two different ends", "Delete the link."});
  const int from = names.host_of(link.from), to = names.host_of(link.to);
  if (from > -2 && to > -2 && (from >= 0 || to >= 0) && from != to)
    problems.push_back({"link_leaves_host", ProblemCode::bad_input, path,
                        "the link connects a device with a host, switch or device outside its host",
                        "two devices of one host, or hosts and switches",
                        "Link the hosts instead."});
}

}  // namespace

base::Problems validate(const Topology& topology, const std::string& path) {
  base::Problems problems;
  NameCheck names(problems);
  for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
    const std::string host_path = indexed(path + ".hosts", h);
    names.add(topology.hosts[h].name, host_path);
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      names.add(topology.hosts[h].devices[d].name, indexed(host_path + ".devices", d),
                static_cast<int>(h));
  }
  for (std::size_t s = 0; s < topology.switches.size(); ++s)
    names.add(topology.switches[s].name, indexed(path + ".switches", s));
  for (std::size_t l = 0; l < topology.links.size(); ++l)
    check_link(names, topology.links[l], indexed(path + ".links", l), problems);
  return problems;
}

}  // namespace trainyard::topology
