// SPDX-License-Identifier: GPL-3.0-or-later
// Buckets, and the algorithm chosen for them.
#include "core/experiment/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/experiment/compression.h"
#include "core/experiment/imposed.h"
#include "tests/core/experiment/resolved.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

RC_GTEST_PROP(Buckets, contain_every_element_of_the_gradient_once, ()) {
  const Resolved r = resolved(any_experiment());
  std::int64_t end = r.model.elements;
  for (const Bucket& bucket : buckets(r)) {
    RC_ASSERT(bucket.first + bucket.count == end);
    end = bucket.first;
  }
  RC_ASSERT(end == 0);
}

RC_GTEST_PROP(Buckets, largest_bucket_determines_the_algorithm, ()) {
  const Resolved r = resolved(any_experiment());
  const collective::Work work = largest_reduction(r);
  std::int64_t most = 0;
  for (const Bucket& bucket : buckets(r))
    for (const Payload& payload : payloads(r, bucket)) most = std::max(most, payload.bytes());
  RC_ASSERT(work.bytes() == most);
  RC_ASSERT(static_cast<int>(work.devices.size()) == r.world());
}

RC_GTEST_PROP(Buckets, are_all_reduced_in_the_gradient_format_without_compression, ()) {
  Experiment experiment = any_experiment();
  experiment.strategy.compression = {};
  const Resolved r = resolved(experiment);
  const std::int64_t element_bytes = r.document.training.precision == Precision::fp64 ? 8 : 4;
  for (const Bucket& bucket : buckets(r)) {
    const auto all = payloads(r, bucket);
    RC_ASSERT(all.size() == 1u);
    RC_ASSERT(all[0].collective == collective::Collective::all_reduce);
    RC_ASSERT(all[0].bytes() == element_bytes * bucket.count);
  }
}

// The cost of a gather by ring or direct is computed from the bytes of all ranks. Algorithms that
// only reduce are not offered.
TEST(Buckets, gathered_buckets_support_only_ring_and_direct) {
  Experiment experiment = small(2, 3);
  experiment.strategy.compression.kind = compute::compression::Scheme::sign;
  const Resolved r = resolved(experiment);
  const collective::Work work = largest_reduction(r);
  EXPECT_EQ(work.collective, collective::Collective::all_gather);
  const auto offers =
      collective::offers(0, work, topology::Network(as_imposed(experiment))).value();
  for (const collective::Offer& offer : offers) {
    const bool gathers = offer.algorithm == collective::Algorithm::ring ||
                         offer.algorithm == collective::Algorithm::direct;
    EXPECT_EQ(offer.unfit_reason.empty(), gathers) << base::name_of(offer.algorithm);
    if (!gathers) continue;
    EXPECT_EQ(offer.cost.total_bytes, 5 * work.bytes());
    EXPECT_EQ(offer.cost.busiest_bytes, 5 * work.bytes() / 6);
  }
}

TEST(Buckets, auto_selects_the_cheapest_algorithm_for_the_largest_bucket) {
  for (const std::int64_t bytes : {1, 100'000, 100'000'000}) {
    Experiment experiment = small(2, 3);
    experiment.strategy.algorithm = collective::Algorithm::automatic;
    experiment.strategy.bucket_bytes = bytes;
    const Resolved r = resolved(experiment);
    const auto choice =
        collective::choose(0, largest_reduction(r), topology::Network(as_imposed(experiment)))
            .value();
    EXPECT_EQ(r.document.strategy.algorithm, choice.algorithm);
    EXPECT_EQ(r.algorithm_reason, choice.reason);
  }
}

TEST(Buckets, algorithm_reason_is_empty_unless_auto_selects_one) {
  EXPECT_EQ(resolved(small(1, 2)).algorithm_reason, "");
  Experiment alone = small(1, 1);
  alone.strategy.algorithm = collective::Algorithm::automatic;
  EXPECT_EQ(resolved(alone).algorithm_reason, "");
}

}  // namespace
}  // namespace trainyard::experiment
