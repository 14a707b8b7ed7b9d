// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/device_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/base/json.h"
#include "core/base/shortened.h"

namespace trainyard::experiment {
namespace {

using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Problems;

// Name of a device that ends in a number: "cpu12" is {"cpu", 12}. A number has no leading zeros, so
// "cpu00" is {"cpu0", 0}.
struct NumberedName {
  std::string base;
  std::int64_t number = 0;
  bool has_number = false;

  std::string member(std::int64_t i) const { return base + std::to_string(number + i); }
};

constexpr std::size_t kMaxDigits = 9;

NumberedName numbered(const std::string& name) {
  std::size_t digits = 0;
  while (digits < std::min(name.size(), kMaxDigits) &&
         std::isdigit(static_cast<unsigned char>(name[name.size() - 1 - digits])))
    ++digits;
  while (digits > 1 && name[name.size() - digits] == '0') --digits;
  if (digits == 0) return {name, 0, false};
  const std::size_t at = name.size() - digits;
  return {name.substr(0, at), std::stoll(name.substr(at)), true};
}

// Returns the name of the group whose first device has the name `first`: "cpu" for "cpu0", "gpu4"
// for "gpu4".
std::string group_name(const std::string& first) {
  const NumberedName name = numbered(first);
  const bool is_clear =
      !name.base.empty() && !std::isdigit(static_cast<unsigned char>(name.base.back()));
  return name.number == 0 && is_clear ? name.base : first;
}

std::string text_of(const Json& device, const char* key) {
  const auto at = device.find(key);
  return at != device.end() && at->is_string() ? at->get<std::string>() : "";
}

// Returns the CUDA index that the field `gpu` of a device states; -1 if the device has no such
// field, or an index that no machine has.
std::int64_t gpu_of(const Json& device) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto at = device.find("gpu");
  if (at == device.end() || !at->is_number_integer() || *at < 0 || *at > kMost) return -1;
  return at->get<std::int64_t>();
}

Problem bad_count(const std::string& path, const Json& count, std::size_t free) {
  return {"bad_count",
          ProblemCode::bad_input,
          path,
          fmt::format("the count of a device entry is {}", base::shortened(base::to_text(count))),
          fmt::format("a whole number from 1 to {}; a host has at most {} devices", free,
                      kMaxDevicesPerHost),
          "Remove the count if the entry is a single device."};
}

// True if `count` is an integer from 1 to `free`, the number of devices that the host may still
// have.
bool is_count(const Json& count, std::size_t free) {
  return count.is_number_integer() && count.get<double>() >= 1 &&
         count.get<double>() <= static_cast<double>(free);
}

void append_members(const Json& group, std::int64_t count, Json& devices) {
  const NumberedName name = numbered(text_of(group, "name"));
  const std::int64_t gpu = gpu_of(group);
  for (std::int64_t i = 0; i < count; ++i) {
    Json device = group;
    if (!group.contains("name")) device.erase("name");  // each device lacks its name
    else device["name"] = name.member(i);
    if (gpu >= 0) device["gpu"] = gpu + i;
    devices.push_back(std::move(device));
  }
}

// Calls `visit` for each host with the list of its devices and the path of this list in the
// document.
template <class Visit>
void for_each_device_list(Json& document, Visit visit) {
  if (!document.is_object() || !document.contains("topology")) return;
  Json& topology = document["topology"];
  if (!topology.is_object() || !topology.contains("hosts") || !topology["hosts"].is_array()) return;
  std::size_t index = 0;
  for (Json& host : topology["hosts"]) {
    const std::string path = "topology.hosts[" + std::to_string(index++) + "].devices";
    if (host.is_object() && host.contains("devices") && host["devices"].is_array())
      visit(host["devices"], path);
  }
}

// True if `device` is the i-th member of the group that begins with `first`.
bool continues_group(const Json& first, const Json& device, std::int64_t i) {
  const NumberedName name = numbered(text_of(first, "name"));
  if (!name.has_number) return false;
  Json expected = first;
  expected["name"] = name.member(i);
  if (const std::int64_t gpu = gpu_of(first); gpu >= 0) expected["gpu"] = gpu + i;
  return device == expected;
}

// Returns the group as one entry, with its count after its name.
Json group_of(const Json& first, std::int64_t count) {
  Json group = Json::object();
  for (const auto& [key, value] : first.items()) {
    group[key] = value;
    if (key != "name") continue;
    group[key] = group_name(value.get<std::string>());
    group["count"] = count;
  }
  return group;
}

}  // namespace

Problems expand_device_groups(Json& document) {
  Problems problems;
  for_each_device_list(document, [&](Json& devices, const std::string& path) {
    Json expanded = Json::array();
    std::size_t index = 0;
    for (Json& device : devices) {
      const std::string place = path + "[" + std::to_string(index++) + "].count";
      if (!device.is_object() || !device.contains("count")) {
        expanded.push_back(std::move(device));
        continue;
      }
      const Json count = device["count"];
      device.erase("count");
      const std::size_t free = kMaxDevicesPerHost - std::min(kMaxDevicesPerHost, expanded.size());
      if (is_count(count, free)) {
        append_members(device, count.get<std::int64_t>(), expanded);
      } else {
        problems.push_back(bad_count(place, count, free));
        expanded.push_back(std::move(device));
      }
    }
    devices = std::move(expanded);
  });
  return problems;
}

void group_devices(Json& document) {
  for_each_device_list(document, [](Json& devices, const std::string&) {
    Json grouped = Json::array();
    for (std::size_t first = 0, next = 0; first < devices.size(); first = next) {
      const auto count = [&] { return static_cast<std::int64_t>(next - first); };
      for (next = first + 1;
           next < devices.size() && continues_group(devices[first], devices[next], count());)
        ++next;
      grouped.push_back(count() > 1 ? group_of(devices[first], count()) : devices[first]);
    }
    devices = std::move(grouped);
  });
}

}  // namespace trainyard::experiment
