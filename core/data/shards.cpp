// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/shards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/units.h"
#include "core/data/apportion.h"
#include "core/data/permutation.h"
#include "core/data/sampler.h"

namespace trainyard::data {
namespace {

using Counts = std::vector<std::int64_t>;

base::Random random_of(const ShardingSpec& spec, std::int64_t item) {
  return {static_cast<std::uint64_t>(spec.seed), base::Purpose::shard,
          static_cast<std::uint32_t>(item)};
}

ShardTable empty_table(std::int64_t ranks, std::int64_t classes) {
  return ShardTable(static_cast<std::size_t>(ranks), Counts(static_cast<std::size_t>(classes)));
}

ShardTable count(const std::vector<std::int32_t>& owners, const TrainingLabels& labels,
                 std::int64_t classes, std::int64_t ranks) {
  ShardTable table = empty_table(ranks, classes);
  for (std::size_t i = 0; i < owners.size(); ++i)
    ++table[static_cast<std::size_t>(owners[i])][static_cast<std::size_t>(labels.classes[i])];
  return table;
}

// Returns all samples in an order that is then divided into contiguous shards, one per rank.
Counts order_of_all(const ShardingSpec& spec, const TrainingLabels& labels) {
  Counts order(labels.classes.size());
  if (spec.kind == ShardingKind::size_skew) return permute(order, random_of(spec, 0)), order;
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto row = [&](std::int64_t index) { return labels.rows[static_cast<std::size_t>(index)]; };
  if (!labels.rows.empty())
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return row(a) < row(b); });
  return order;
}

void give(std::span<const std::int64_t> order, std::span<const std::int64_t> sizes,
          std::vector<std::int32_t>& owners) {
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    for (std::int64_t i = 0; i < sizes[rank]; ++i)
      owners[static_cast<std::size_t>(order[next++])] = static_cast<std::int32_t>(rank);
}

std::vector<std::int32_t> give_all(const ShardingSpec& spec, const TrainingLabels& labels,
                                   const Counts& sizes) {
  std::vector<std::int32_t> owners(labels.classes.size());
  give(order_of_all(spec, labels), sizes, owners);
  return owners;
}

Counts members_of(const TrainingLabels& labels, std::size_t label) {
  Counts members;
  for (std::size_t i = 0; i < labels.classes.size(); ++i)
    if (labels.classes[i] == static_cast<std::int32_t>(label))
      members.push_back(static_cast<std::int64_t>(i));
  return members;
}

// Returns the rank that owns each sample. Permutes the samples of each class, and divides them
// among ranks by the numbers in the table.
std::vector<std::int32_t> give_classes(const ShardingSpec& spec, const TrainingLabels& labels,
                                       const ShardTable& table) {
  std::vector<std::int32_t> owners(labels.classes.size());
  for (std::size_t label = 0; label < table.front().size(); ++label) {
    Counts members = members_of(labels, label), order(members.size()), sizes;
    permute(order, random_of(spec, static_cast<std::int64_t>(label) + 1));
    for (std::int64_t& at : order) at = members[static_cast<std::size_t>(at)];
    for (const Counts& of_rank : table) sizes.push_back(of_rank[label]);
    give(order, sizes, owners);
  }
  return owners;
}

Counts sizes_of(const ShardingSpec& spec, std::int64_t samples, std::int64_t ranks) {
  Counts sizes;
  std::vector<double> weights;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    sizes.push_back(slice(samples, ranks, rank).second);
    weights.push_back(ranks == 1 ? 1.0
                                 : std::pow(spec.size_ratio, -static_cast<double>(rank) /
                                                                 static_cast<double>(ranks - 1)));
  }
  return spec.kind == ShardingKind::size_skew ? apportion(samples, weights) : sizes;
}

ShardTable count_label_skew(const ShardingSpec& spec, const TrainingLabels& labels,
                            std::int64_t classes, std::int64_t ranks) {
  ShardTable table = empty_table(ranks, classes);
  Counts of_class(static_cast<std::size_t>(classes));
  for (const std::int32_t label : labels.classes) ++of_class[static_cast<std::size_t>(label)];
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    const Counts parts = apportion(
        of_class[label],
        dirichlet(random_of(spec, static_cast<std::int64_t>(label) + 1), spec.alpha, ranks));
    for (std::size_t rank = 0; rank < parts.size(); ++rank) table[rank][label] = parts[rank];
  }
  return table;
}

Counts samples_by_class(const ShardTable& table) {
  Counts sums(table.front().size());
  for (const Counts& of_rank : table)
    std::transform(sums.begin(), sums.end(), of_rank.begin(), sums.begin(), std::plus<>());
  return sums;
}

base::Problem other_samples(const std::string& what) {
  return {"data_changed",
          base::ProblemCode::refused,
          "data",
          fmt::format("the samples changed since the run started: {}", what),
          "the same samples for every rank",
          "Start the run again, and do not change data files during the run."};
}

base::Result<void> check_classes(const ShardTable& table, const TrainingLabels& labels) {
  const Counts counted = samples_by_class(table);
  Counts here(counted.size());
  for (const std::int32_t label : labels.classes) {
    if (label < 0 || label >= std::ssize(here))
      return base::fail(other_samples(fmt::format("class {} is new", label)));
    ++here[static_cast<std::size_t>(label)];
  }
  for (std::size_t label = 0; label < here.size(); ++label)
    if (here[label] != counted[label])
      return base::fail(other_samples(fmt::format("class {} now has {}, not {}", label,
                                                  base::counted(here[label], "sample"),
                                                  base::format_count(counted[label]))));
  return {};
}

}  // namespace

ShardTable count_shards(const ShardingSpec& spec, const TrainingLabels& labels,
                        std::int64_t classes, std::int64_t ranks) {
  if (spec.kind == ShardingKind::label_skew) return count_label_skew(spec, labels, classes, ranks);
  return count(give_all(spec, labels, sizes_of(spec, std::ssize(labels.classes), ranks)), labels,
               classes, ranks);
}

ShardTable count_first_epoch(std::int64_t seed, std::int64_t batch_per_rank,
                             const TrainingLabels& labels, std::int64_t classes,
                             std::int64_t ranks) {
  ShardTable table = empty_table(ranks, classes);
  Sampler sampler(seed, std::ssize(labels.classes), batch_per_rank, ranks);
  for (std::int64_t step = 0; step < sampler.shares().steps_per_epoch(); ++step)
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      for (const std::int64_t index : sampler.indices(step, rank))
        ++table[static_cast<std::size_t>(rank)]
               [static_cast<std::size_t>(labels.classes[static_cast<std::size_t>(index)])];
  return table;
}

base::Result<std::vector<std::int32_t>> owners(const ShardingSpec& spec, const ShardTable& table,
                                               const TrainingLabels& labels) {
  return check_classes(table, labels).and_then([&]() -> base::Result<std::vector<std::int32_t>> {
    if (spec.kind == ShardingKind::label_skew) return give_classes(spec, labels, table);
    auto given = give_all(spec, labels, samples_by_rank(table));
    const auto classes = std::ssize(table.front()), ranks = std::ssize(table);
    if (count(given, labels, classes, ranks) != table)
      return base::fail(other_samples(
          "the classes of the ranks' shards differ from those at the start of the run"));
    return given;
  });
}

std::vector<std::int64_t> samples_by_rank(const ShardTable& table) {
  std::vector<std::int64_t> sums;
  for (const auto& of_rank : table)
    sums.push_back(std::accumulate(of_rank.begin(), of_rank.end(), std::int64_t{0}));
  return sums;
}

std::string shard_text(const std::vector<std::int64_t>& samples_by_class) {
  const std::int64_t all =
      std::accumulate(samples_by_class.begin(), samples_by_class.end(), std::int64_t{0});
  std::string text =
      base::format_count(all) + (all == 1 ? " sample, by class " : " samples, by class ");
  for (std::size_t label = 0; label < samples_by_class.size(); ++label)
    text += (label == 0 ? "" : ", ") + base::format_count(samples_by_class[label]);
  return text;
}

}  // namespace trainyard::data
