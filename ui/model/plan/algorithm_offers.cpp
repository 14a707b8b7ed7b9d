// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/algorithm_offers.h"

#include "core/experiment/buckets.h"
#include "core/experiment/imposed.h"
#include "core/experiment/mesh.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/tensor.h"
#include "core/experiment/tpu.h"

namespace trainyard::ui {
namespace {

void add_flows(AlgorithmOffers& known, std::int64_t segment_bytes, const collective::Work& work,
               const std::stop_token& stop) {
  for (const collective::Offer& offer : known.offers) {
    if (!offer.unfit_reason.empty() || stop.stop_requested()) continue;
    auto flows = collective::flows(offer.algorithm, segment_bytes, work);
    if (flows.size() <= kMaxArrows) known.flows[offer.algorithm] = std::move(flows);
  }
}

// If the strategy supports only one all-reduce algorithm, marks all others as unavailable.
void keep_only(AlgorithmOffers& known, const experiment::Resolved& experiment) {
  const auto only = experiment::required_all_reduce(experiment.document.strategy.kind);
  if (!only) return;
  for (collective::Offer& offer : known.offers)
    if (offer.algorithm != only->algorithm && offer.unfit_reason.empty())
      offer.unfit_reason = std::string(only->reason);
  known.automatic = {only->algorithm, experiment::torus_text(experiment.hosts)};
}

// True if the collective is inside layers: its ranks hold shards of the same layers, and are not
// replicas.
bool is_inside_layers(const experiment::Resolved& experiment, const collective::Work& work) {
  if (!experiment::splits_model(experiment.document.strategy.kind) ||
      !experiment::splits_layers(experiment))
    return false;
  return work.devices.back() == experiment.ranks[static_cast<std::size_t>(
                                    experiment::mesh_of(experiment).tensor_group(0).back())];
}

AlgorithmOffers offers_of(const experiment::Resolved& experiment, const std::stop_token& stop) {
  AlgorithmOffers known;
  const topology::Network network(experiment::as_imposed(experiment.document));
  const collective::Work work = experiment::largest_reduction(experiment);
  known.ranks = static_cast<int>(work.devices.size());
  if (known.ranks < 2) return known;
  const std::int64_t segment_bytes = experiment.document.strategy.segment_bytes;
  auto offers = collective::offers(segment_bytes, work, network, stop);
  if (!offers) {
    known.problem = offers.error();
    return known;
  }
  known.bucket_bytes = work.bytes();
  known.inside_layers = is_inside_layers(experiment, work);
  known.gathers = work.collective == collective::Collective::all_gather;
  known.offers = std::move(*offers);
  known.automatic = collective::choice(known.offers, work);
  keep_only(known, experiment);
  for (const topology::DeviceId device : work.devices)
    known.devices.push_back(network.device(device).name);
  add_flows(known, segment_bytes, work, stop);
  return known;
}

}  // namespace

LogicalTopology AlgorithmOffers::picture(collective::Algorithm algorithm) const {
  const auto at =
      flows.find(algorithm == collective::Algorithm::automatic ? automatic.algorithm : algorithm);
  return at == flows.end() ? LogicalTopology() : LogicalTopology{devices, at->second};
}

AlgorithmOffersPtr compare_algorithms(const base::Result<experiment::Resolved>& experiment,
                                      const std::stop_token& stop) {
  auto known = std::make_shared<AlgorithmOffers>();
  if (experiment) *known = offers_of(*experiment, stop);
  else known->problem = experiment.error();
  return known;
}

}  // namespace trainyard::ui
