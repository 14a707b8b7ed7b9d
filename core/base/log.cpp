// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <vector>

namespace trainyard::base {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Returns the sink of the logger. Sinks can be added to it while other threads log.
const std::shared_ptr<spdlog::sinks::dist_sink_mt>& sinks() {
  static const auto instance = std::make_shared<spdlog::sinks::dist_sink_mt>(
      std::vector<spdlog::sink_ptr>{std::make_shared<spdlog::sinks::stderr_color_sink_mt>()});
  return instance;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("trainyard", sinks());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

std::mutex configuration;
std::string speaker;

}  // namespace

void log(LogLevel level, std::string_view text) {
  std::string who;
  {
    const std::lock_guard lock(configuration);
    who = speaker;
  }
  if (who.empty()) {
    logger().log(to_spdlog(level), text);
  } else {
    logger().log(to_spdlog(level), "[{}] {}", who, text);
  }
}

void set_log_name(std::string_view name) {
  const std::lock_guard lock(configuration);
  speaker = name;
}

void set_log_level(LogLevel least) { logger().set_level(to_spdlog(least)); }

bool add_log_file(const std::string& path) {
  try {
    const auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    // the logger must exist before this sink is added, because creating it sets the pattern of all
    // existing sinks
    logger();
    sinks()->add_sink(sink);
    return true;
  } catch (const spdlog::spdlog_ex&) {
    return false;
  }
}

}  // namespace trainyard::base
