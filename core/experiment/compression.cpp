// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/compression.h"

#include <fmt/core.h>

#include <cstdio>
#include <numeric>

#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/rank_duties.h"
#include "core/model/power_sgd.h"

namespace trainyard::experiment {
namespace {

using base::DType;
using base::ProblemCode;
using collective::Algorithm;
using collective::Collective;
using compute::compression::Scheme;

base::Problem not_of_fp64(const std::string& kind) {
  return {"compression_needs_fp32",
          ProblemCode::bad_input,
          "strategy.compression.kind",
          fmt::format("{} compresses fp32 gradients, but training.precision is fp64", kind),
          "none with fp64",
          "Set training.precision to fp32, or strategy.compression.kind to none."};
}

base::Problem not_gathered(const std::string& kind, const std::string& algorithm) {
  return {"algorithm_cannot_gather",
          ProblemCode::bad_input,
          "strategy.algorithm",
          fmt::format("{} sums data while the data passes from rank to rank, but encodings of {} "
                      "can only be all-gathered, not summed",
                      algorithm, kind),
          "ring, direct or auto",
          "Set strategy.algorithm to ring or direct, or strategy.compression.kind to fp16, bf16, "
          "random_k or power_sgd, whose encodings can be summed."};
}

base::Problem never_gathered(const std::string& kind, const std::string& strategy,
                             const std::string& algorithm) {
  return {"strategy_cannot_gather",
          ProblemCode::bad_input,
          "strategy.compression.kind",
          fmt::format("encodings of {} are all-gathered, but {} uses the algorithm {}, which sums "
                      "data while the data passes from rank to rank",
                      kind, strategy, algorithm),
          "none, fp16, bf16, random_k, power_sgd",
          "Set strategy.compression.kind to bf16 or none, or strategy.kind to mirrored."};
}

std::vector<Payload> of_power_sgd(const Resolved& e, const Bucket& bucket) {
  const auto layout = model::power_sgd_layout(e.model, bucket.first, bucket.count,
                                              e.document.strategy.compression.rank);
  std::vector<Payload> list{{Collective::all_reduce, DType::fp32, layout.left_elements}};
  if (layout.right_elements > 0)
    list.push_back({Collective::all_reduce, DType::fp32, layout.right_elements});
  return list;
}

// Returns the bytes that all ranks together send in the collective of this payload.
std::int64_t sent_bytes_of(const Resolved& e, const Payload& payload) {
  const collective::Work work{payload.elements, static_cast<int>(base::size_of(payload.dtype)),
                              e.ranks, e.hosts, payload.collective};
  const std::int64_t segment_bytes =
      collective::is_sharded(payload.collective) ? 0 : e.document.strategy.segment_bytes;
  const auto sent = collective::sent_bytes(payload.collective, e.document.strategy.algorithm,
                                           segment_bytes, work);
  return std::accumulate(sent.begin(), sent.end(), std::int64_t{0});
}

std::int64_t encoded_bytes_of(const Resolved& e, const Payload& payload) {
  return payload.collective == Collective::all_gather ? payload.bytes() / e.world()
                                                      : payload.bytes();
}

// Returns a factor as text, such as "3.98x".
std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3gx", factor);
  return text;
}

double ratio(std::int64_t a, std::int64_t b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 1;
}

// True if gradients are all-reduced, so that all ranks make the same update.
bool all_reduces(const StrategySpec& strategy) {
  return strategy.kind != StrategyKind::one_device && strategy.kind != StrategyKind::fsdp &&
         !splits_model(strategy.kind) && !fixed_algorithm(strategy.kind) &&
         !has_local_parameters(strategy.kind) && strategy.average == AveragedQuantity::gradients;
}

base::Problem not_all_reduced(const StrategySpec& strategy) {
  const bool weights = strategy.average == AveragedQuantity::weights;
  return {"strategy_without_compression",
          ProblemCode::bad_input,
          "strategy.compression.kind",
          weights ? std::string("weights are averaged, but only gradients can be compressed")
                  : fmt::format("{} does not compress gradients", base::name_of(strategy.kind)),
          "none",
          "Set strategy.compression.kind to none, or strategy.kind to mirrored, "
          "multi_worker_mirrored, ddp or tpu, with averaged gradients."};
}

}  // namespace

bool compresses(const Resolved& e) {
  const StrategySpec& strategy = e.document.strategy;
  return all_reduces(strategy) && strategy.compression.kind != Scheme::none && e.world() > 1;
}

std::vector<Payload> payloads(const Resolved& e, const Bucket& bucket) {
  const CompressionSpec& spec = e.document.strategy.compression;
  if (shards(e))
    return {// The reduce-scatter has the same size.
            {Collective::all_gather, gradient_dtype(e), bucket.count}};
  if (!compresses(e)) return {{Collective::all_reduce, gradient_dtype(e), bucket.count}};
  if (spec.kind == Scheme::power_sgd) return of_power_sgd(e, bucket);
  const std::int64_t of_rank = compute::compression::encoded_elements(spec, bucket.count);
  if (compute::compression::gathers(spec.kind))
    return {{Collective::all_gather, DType::byte, of_rank * e.world()}};
  return {{Collective::all_reduce, compute::compression::wire_dtype(spec.kind), of_rank}};
}

std::optional<Savings> savings(const Resolved& e) {
  if (!compresses(e)) return std::nullopt;
  std::int64_t whole = 0, full_sent = 0, encoded = 0, sent = 0;
  const bool counted = e.document.strategy.engine == Engine::own;
  for (const Bucket& bucket : buckets(e)) {
    const Payload plain{Collective::all_reduce, gradient_dtype(e), bucket.count};
    whole += plain.bytes();
    if (counted) full_sent += sent_bytes_of(e, plain);
    for (const Payload& payload : payloads(e, bucket)) {
      encoded += encoded_bytes_of(e, payload);
      if (counted) sent += sent_bytes_of(e, payload);
    }
  }
  return Savings{ratio(whole, encoded),
                 counted ? std::optional(ratio(full_sent, sent)) : std::nullopt};
}

std::string savings_line(const Savings& savings) {
  const auto text = [](double saved, const char* less, const char* more) {
    if (times(saved) == times(1) || times(1 / saved) == times(1)) return std::string("as much as");
    return saved > 1 ? fmt::format("{} {}", times(saved), less)
                     : fmt::format("{} {}", times(1 / saved), more);
  };
  const std::string encoded =
      times(savings.encoded) == times(1)
          ? "encoded no smaller"
          : fmt::format("encoded {}", text(savings.encoded, "smaller", "larger"));
  return savings.sent ? fmt::format("{}, traffic {} uncompressed", encoded,
                                    text(*savings.sent, "less than", "more than"))
                      : encoded;
}

base::Problems compression_problems(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  const std::string kind(base::name_of(strategy.compression.kind));
  if (strategy.kind == StrategyKind::one_device || strategy.compression.kind == Scheme::none)
    return {};
  if (!all_reduces(strategy)) return {not_all_reduced(strategy)};
  base::Problems problems;
  if (experiment.training.precision == Precision::fp64) problems.push_back(not_of_fp64(kind));
  const bool may_gather = strategy.algorithm == Algorithm::ring ||
                          strategy.algorithm == Algorithm::direct ||
                          strategy.algorithm == Algorithm::automatic;
  const bool gathers = compute::compression::gathers(strategy.compression.kind);
  if (const auto only = required_all_reduce(strategy.kind); only && gathers)
    problems.push_back(never_gathered(kind, std::string(base::name_of(strategy.kind)),
                                      std::string(base::name_of(only->algorithm))));
  else if (gathers && !may_gather)
    problems.push_back(not_gathered(kind, std::string(base::name_of(strategy.algorithm))));
  return problems;
}

}  // namespace trainyard::experiment
