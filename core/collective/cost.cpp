// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/collective/pieces.h"

namespace trainyard::collective {
namespace {

// Routes between members of the group, by position. Each route is computed when it is first used.
class Routes {
 public:
  Routes(const Work& work, const topology::Network& network)
      : work_(work), network_(network), known_(work.devices.size() * work.devices.size()) {}

  base::Result<const topology::Route*> between(int from, int to) {
    auto& known = known_[static_cast<std::size_t>(from) * work_.devices.size() +
                         static_cast<std::size_t>(to)];
    if (known) return &*known;
    auto route = network_.route(device(from), device(to));
    if (!route) return base::fail(route.error());
    return &known.emplace(std::move(*route));
  }
  const topology::Network& network() const { return network_; }
  topology::DeviceId device(int position) const {
    return work_.devices[static_cast<std::size_t>(position)];
  }

 private:
  const Work& work_;
  const topology::Network& network_;
  std::vector<std::optional<topology::Route>> known_;
};

// Bytes and latency that all members together put on the links and devices during one round. If
// segments are pipelined, it covers all rounds that different segments are in at the same time.
struct Load {
  double latency_seconds = 0;
  bool sends = false;
  // bytes on each directed link, in the order: edge 0 forward, edge 0 backward, edge 1 forward, ...
  std::vector<double> bytes;
  std::vector<double> touched;  // bytes read and written, by position

  void add(const Load& other) {
    latency_seconds = std::max(latency_seconds, other.latency_seconds);
    sends = sends || other.sends;
    std::ranges::transform(bytes, other.bytes, bytes.begin(), std::plus());
    std::ranges::transform(touched, other.touched, touched.begin(), std::plus());
  }
};

// Returns how many times a device reads or writes the step's chunks: received data, local data,
// result.
double touches(const Step& step) {
  switch (step.kind) {
    case StepKind::recv_reduce: return 3;
    case StepKind::reduce_many:
    case StepKind::sum_to_scratch: return static_cast<double>(step.summands.size()) + 1;
    default: return 2;
  }
}

class Estimate {
 public:
  Estimate(Algorithm algorithm, std::int64_t segment_bytes, const Work& work, Routes& routes)
      : algorithm_(algorithm),
        work_(work),
        routes_(routes),
        formation_(formation(work.hosts)),
        pieces_(is_sharded(work.collective) ? 0 : segment_bytes, work,
                chunks(work.collective, algorithm, formation_)) {}

  base::Result<Cost> run() {
    for (int position = 0; position < formation_.members; ++position)
      if (auto ok = add(position); !ok) return base::fail(ok.error());
    follow_rounds();
    return cost_;
  }

 private:
  base::Result<void> add(int position) {
    const Rounds rounds = program(work_.collective, algorithm_, formation_, position, 0);
    std::int64_t sent = 0;
    for (const bool longer : {true, false}) {
      if (pieces_.segments_of(longer) == 0) continue;
      auto& loads = loads_[longer ? 1 : 0];
      loads.resize(rounds.size(), idle());
      for (std::size_t t = 0; t < rounds.size(); ++t)
        for (const Step& step : rounds[t]) {
          const std::int64_t bytes = pieces_.bytes_of(step, longer);
          if (step.kind == StepKind::send) sent += pieces_.segments_of(longer) * bytes;
          if (auto ok = add(position, step, static_cast<double>(bytes), loads[t]); !ok) return ok;
        }
    }
    cost_.busiest_bytes = std::max(cost_.busiest_bytes, sent);
    cost_.total_bytes += sent;
    return {};
  }

  base::Result<void> add(int position, const Step& step, double bytes, Load& load) {
    if (step.kind != StepKind::send) {
      load.touched[static_cast<std::size_t>(position)] += bytes * touches(step);
      return {};
    }
    const auto route = routes_.between(position, step.peer);
    if (!route) return base::fail(route.error());
    load.sends = true;
    load.latency_seconds = std::max(load.latency_seconds, (*route)->latency_seconds);
    for (const topology::Hop& hop : (*route)->hops)
      load.bytes[2 * hop.edge.index() + (hop.forward ? 0 : 1)] +=
          bytes * hop.share / topology::kFullShare;
    return {};
  }

  Load idle() const {
    return {0, false, std::vector<double>(2 * routes_.network().edges().size(), 0),
            std::vector<double>(work_.devices.size(), 0)};
  }

  // Rounds [low, high] of the program that are in progress at the same time, each for another
  // segment. Segment s is in round t of the program when segment 0 is, or would be, in round t + s.
  // Rounds from `longer` on are rounds of longer segments. The range, and so the time of a round,
  // mostly stays the same from round to round.
  struct UnderWay {
    int low = 0, high = -1, longer = 0;
    bool operator==(const UnderWay&) const = default;
  };

  UnderWay under_way(int time) const {
    const int rounds = static_cast<int>(loads_[0].size()),
              low = std::max(0, time - pieces_.segments + 1), high = std::min(rounds - 1, time);
    return {low, high, std::clamp(time - pieces_.long_segments() + 1, low, high + 1)};
  }

  void follow_rounds() {
    UnderWay before;
    Load load = idle();
    double seconds_of_load = 0;
    for (int time = 0; time < static_cast<int>(loads_[0].size()) + pieces_.segments - 1; ++time) {
      if (const UnderWay now = under_way(time); now != before) {
        before = now, load = idle();
        for (int t = now.low; t <= now.high; ++t)
          load.add(loads_[t >= now.longer ? 1 : 0][static_cast<std::size_t>(t)]);
        seconds_of_load = seconds(load);
      }
      cost_.rounds += load.sends ? 1 : 0;
      cost_.seconds += seconds_of_load;
    }
  }

  double seconds(const Load& load) const {
    double crossing = 0, busy = 0;
    for (std::size_t way = 0; way < load.bytes.size(); ++way)
      crossing =
          std::max(crossing, 8 * load.bytes[way] /
                                 routes_.network().edges()[way / 2].bandwidth_bits_per_second);
    for (int position = 0; position < formation_.members; ++position)
      busy = std::max(
          busy,
          load.touched[static_cast<std::size_t>(position)] /
              routes_.network().device(routes_.device(position)).memory_bandwidth_bytes_per_second);
    return load.latency_seconds + crossing + busy;
  }

  Algorithm algorithm_;
  const Work& work_;
  Routes& routes_;
  Formation formation_;
  Pieces pieces_;
  // Load of each round of the program. Index 0: rounds of a shorter segment; 1: of a longer
  // segment.
  std::vector<Load> loads_[2];
  Cost cost_;
};

}  // namespace

base::Result<Cost> cost(Algorithm algorithm, std::int64_t segment_bytes, const Work& work,
                        const topology::Network& network) {
  Routes routes(work, network);
  return Estimate(algorithm, segment_bytes, work, routes).run();
}

base::Result<std::vector<Offer>> offers(std::int64_t segment_bytes, const Work& work,
                                        const topology::Network& network,
                                        const std::stop_token& stop) {
  Routes routes(work, network);
  std::vector<Offer> all;
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table) {
    if (algorithm == Algorithm::automatic) continue;
    if (stop.stop_requested())
      return base::fail({"canceled", base::ProblemCode::canceled, "",
                         "the comparison of algorithms was canceled", "", ""});
    Offer& offer = all.emplace_back(Offer{algorithm});
    if (!fits(algorithm, formation(work.hosts))) {
      offer.unfit_reason = fmt::format("{} needs the same number of ranks on every host", name);
      continue;
    }
    if (!std::ranges::all_of(work.concurrent_groups, [&](const std::vector<int>& hosts) {
          return fits(algorithm, formation(hosts));
        })) {
      offer.unfit_reason = fmt::format(
          "{} needs the same number of ranks on every host, in this group and in all other groups "
          "that use it",
          name);
      continue;
    }
    if (work.collective != Collective::all_reduce && algorithm != Algorithm::ring &&
        algorithm != Algorithm::direct) {
      offer.unfit_reason = fmt::format("{} supports only all-reduce; use ring or direct for {}",
                                       name, base::name_of(work.collective));
      continue;
    }
    const auto found = Estimate(algorithm, segment_bytes, work, routes).run();
    if (!found) return base::fail(found.error());
    offer.cost = *found;
  }
  return all;
}

}  // namespace trainyard::collective
