// SPDX-License-Identifier: GPL-3.0-or-later
// Sum, mean, min and max by every algorithm: programs are the same, what adds up combines by the
// reduction.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "backends/inproc/transport.h"
#include "core/compute/reference/reference.h"
#include "core/run/bind/layout.h"
#include "core/run/exchange/collective_runner.h"
#include "core/run/exchange/transfers.h"
#include "tests/conformance/reduced_value.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::conformance {
namespace {

using base::Reduction;
using collective::Algorithm;

template <class Number>
constexpr base::DType kDType = sizeof(Number) == 8 ? base::DType::fp64 : base::DType::fp32;

template <class Number>
Number given(int rank, std::int64_t i) {
  if (i == rank)
    return std::numeric_limits<Number>::quiet_NaN();  // each of the first elements is not a number
                                                      // on one rank
  return static_cast<Number>(std::cos(static_cast<double>(i) * 1.3 + rank * 2.1) * (rank + 1));
}

// All members reduce one bucket, over the transport of threads; their buffers.
template <class Number>
std::vector<std::vector<Number>> reduced(const collective::Method& method, int ranks,
                                         Reduction reduction, std::int64_t elements) {
  plan::RankPlan coarse{
      0, {{"comm.g0", plan::LaneKind::comm, 0}}, {{"bucket", kDType<Number>, elements, true}}, {}};
  plan::Op op;
  op.kind = plan::OpKind::all_reduce;
  op.lane = plan::LaneId(0);
  op.bucket = op.group = 0;
  op.reads = op.writes = {{plan::BufferId(0), 0, elements}};
  coarse.programs = {{"all_reduce", 0, 0, 1, {op}, {}}};
  plan::Group group;
  group.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  auto ends = inproc::make(ranks, 4096).value();
  std::vector<std::vector<Number>> buffers(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      plan::RankPlan own = coarse;
      own.rank = rank;
      const plan::RankPlan plan = collective::expand(own, {group}, method);
      const auto compute = compute::reference::make();
      comm::Transport& transport = *ends[static_cast<std::size_t>(rank)];
      std::vector<double> beside(static_cast<std::size_t>(run::layout(plan).private_bytes));
      const auto bound = run::bind(plan, {group}, {}, {}, *compute,
                                   std::as_writable_bytes(std::span(beside)), transport.arena());
      ASSERT_TRUE(bound) << base::to_string(bound.error());
      auto* data =
          reinterpret_cast<Number*>(transport.arena().data() + run::layout(plan).buffers[0].offset);
      for (std::int64_t i = 0; i < elements; ++i) data[i] = given<Number>(rank, i);
      run::Transfers transfers(transport, *compute, 1, reduction);
      run::CollectiveRunner runner(plan, *bound, transfers,
                                   reduction == Reduction::mean ? ranks : 0);
      const auto done = runner.run(0, 0);
      ASSERT_TRUE(done) << base::to_string(done.error());
      buffers[static_cast<std::size_t>(rank)].assign(data, data + elements);
    });
  for (std::thread& thread : threads) thread.join();
  return buffers;
}

template <class Number>
double expected(Reduction reduction, int ranks, std::int64_t i) {
  return tests::reduced_value(reduction, ranks, [i](int rank) { return given<Number>(rank, i); });
}

template <class Number>
void expect_reduced(const collective::Method& method, int ranks, Reduction reduction,
                    std::int64_t elements) {
  const auto buffers = reduced<Number>(method, ranks, reduction, elements);
  const double allowed =
      static_cast<double>(std::numeric_limits<Number>::epsilon()) * ranks * ranks * ranks;
  for (const auto& buffer : buffers) {
    ASSERT_EQ(buffer.size(), static_cast<std::size_t>(elements));
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto value = static_cast<double>(buffer[static_cast<std::size_t>(i)]);
      if (i < ranks) {
        ASSERT_TRUE(std::isnan(value)) << "element " << i << " is not a number on rank " << i;
        continue;
      }
      ASSERT_EQ(std::memcmp(&buffer[static_cast<std::size_t>(i)],
                            &buffers[0][static_cast<std::size_t>(i)], sizeof(Number)),
                0)
          << "equal bits";
      ASSERT_NEAR(value, expected<Number>(reduction, ranks, i), allowed) << "element " << i;
    }
  }
}

class Reductions : public testing::TestWithParam<Algorithm> {};

TEST_P(Reductions, cover_all_ranks_and_keep_nan) {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const Reduction reduction :
         {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max})
      for (const std::int64_t segment_bytes : {0, 60}) {
        collective::Method method = collective::on_hosts(GetParam(), ranks % 2 == 0 ? 2 : 1,
                                                         ranks % 2 == 0 ? ranks / 2 : ranks);
        method.segment_bytes = segment_bytes;
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::string(base::name_of(reduction)) +
                     ", segments of " + std::to_string(segment_bytes));
        expect_reduced<float>(method, ranks, reduction, 37);
        expect_reduced<double>(method, ranks, reduction, 37);
      }
}

// Some ranks have no chunk then, or none has.
TEST_P(Reductions, support_fewer_elements_than_ranks_and_zero) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (const std::int64_t elements : {0, 1, ranks - 1, ranks + 1})
      for (const int hosts : {1, 2, 3}) {
        if (ranks % hosts != 0) continue;
        SCOPED_TRACE(std::to_string(ranks) + " ranks on " + std::to_string(hosts) + " hosts, " +
                     std::to_string(elements) + " elements");
        expect_reduced<float>(collective::on_hosts(GetParam(), hosts, ranks / hosts), ranks,
                              Reduction::sum, elements);
      }
}

INSTANTIATE_TEST_SUITE_P(algorithms, Reductions, testing::ValuesIn(collective::kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

}  // namespace
}  // namespace trainyard::conformance
