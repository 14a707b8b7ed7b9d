// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/imposed.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace trainyard::experiment {
namespace {

// Limits of a scaled bandwidth, in bit/s. Within these limits the computation of bandwidth shares
// is valid.
constexpr double kSlowest = 1, kFastest = 1e16;

bool imposes_links(const RunSpec& run) { return run.links == LinkSpeed::imposed; }

void scale_link(double& bandwidth_bits_per_second, double& latency_seconds, double scale) {
  bandwidth_bits_per_second = std::clamp(bandwidth_bits_per_second * scale, kSlowest, kFastest);
  latency_seconds /= scale;
}

std::string factor(double scale) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", scale);
  return text.data();
}

}  // namespace

topology::Topology as_imposed(const Experiment& experiment) {
  topology::Topology drawing = experiment.topology;
  if (!imposes_links(experiment.run)) return drawing;
  const double scale = experiment.run.link_scale;
  for (topology::Host& host : drawing.hosts)
    scale_link(host.bus_bandwidth_bits_per_second, host.bus_latency_seconds, scale);
  for (topology::Link& link : drawing.links)
    scale_link(link.bandwidth_bits_per_second, link.latency_seconds, scale);
  return drawing;
}

double max_op_gap_seconds(const Resolved& resolved) {
  if (!imposes_links(resolved.document.run)) return 0;
  double narrowest = kFastest, latencies = 0;
  const auto crosses = [&](double bandwidth_bits_per_second, double latency_seconds) {
    narrowest = std::min(narrowest, bandwidth_bits_per_second);
    latencies += latency_seconds;
  };
  const topology::Topology drawing = as_imposed(resolved.document);
  for (const topology::Host& host : drawing.hosts)
    crosses(host.bus_bandwidth_bits_per_second, host.bus_latency_seconds);
  for (const topology::Link& link : drawing.links)
    crosses(link.bandwidth_bits_per_second, link.latency_seconds);
  const double element_bits = resolved.document.training.precision == Precision::fp64 ? 64 : 32;
  const std::int64_t rows = resolved.on_rank_0() ? resolved.global_batch * resolved.model.features
                                                 : 0;  // Rank 0 sends the samples.
  const auto largest = static_cast<double>(
      std::max(resolved.model.elements, rows));  // Upper bound; compression sends less.
  return largest * element_bits * resolved.world() * resolved.world() / narrowest + latencies;
}

std::string link_speeds_line(const RunSpec& run) {
  if (!imposes_links(run)) return "not imposed";
  return run.link_scale == 1 ? "imposed"
                             : fmt::format("imposed at {} of drawn", factor(run.link_scale));
}

std::string slow_down_line(double slow_down, double jitter) {
  if (slow_down == 1 && jitter == 0) return "not slowed down";
  const std::string unsteady = jitter > 0 ? fmt::format("with a jitter of {}", factor(jitter)) : "";
  if (slow_down == 1) return unsteady;
  return fmt::format("slowed down {}x{}{}", factor(slow_down), unsteady.empty() ? "" : ", ",
                     unsteady);
}

std::string speeds_line(const RunSpec& run) {
  if (run.clock == RunClock::virtual_time)
    return "VIRTUAL CLOCK: times are predicted from the drawn devices and links, gradients are "
           "real";
  const bool paced = run.devices == DeviceSpeed::paced;
  if (!imposes_links(run) && !paced)
    return "speeds of devices and links: not imposed (drawn speeds only predict)";
  return fmt::format("speeds of links: {}; of devices: {}", link_speeds_line(run),
                     paced ? "PACED to the drawn speeds" : "not imposed");
}

}  // namespace trainyard::experiment
