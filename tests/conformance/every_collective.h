// SPDX-License-Identifier: GPL-3.0-or-later
// Every collective, carried out for real over any transport: what each rank ends with, and the
// bytes that it sent, by closed formulas.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <thread>

#include "core/collective/expand.h"
#include "core/compute/reference/reference.h"
#include "core/run/bind/layout.h"
#include "core/run/exchange/collective_runner.h"
#include "core/run/exchange/transfers.h"
#include "tests/conformance/training.h"

namespace trainyard::tests {

struct OneCollective {
  collective::Collective collective = collective::Collective::all_reduce;
  collective::Algorithm algorithm = collective::Algorithm::ring;
  int ranks = 2, root = 0;
  std::int64_t rows = 0, row = 1;  // numbers of a row, which no chunk cuts

  std::int64_t elements() const { return rows * row; }
  bool rooted() const {
    using enum collective::Collective;
    return collective == broadcast || collective == reduce || collective == scatter ||
           collective == gather;
  }
  std::pair<std::int64_t, std::int64_t> chunk(int rank) const {
    const auto [first, count] = collective::part(rows, ranks, (rank + ranks) % ranks);
    return {first * row, count * row};
  }
  std::int64_t bytes_of_chunk(int rank) const { return 8 * chunk(rank).second; }
  int owner(std::int64_t element) const {
    int rank = 0;
    while (element >= chunk(rank).first + chunk(rank).second) ++rank;
    return rank;
  }
};

inline void PrintTo(const OneCollective& c, std::ostream* out) {
  *out << "collective " << static_cast<int>(c.collective) << " by " << base::name_of(c.algorithm)
       << ", " << c.ranks << " ranks, root " << c.root << ", " << c.rows << " rows of " << c.row;
}

// Whole numbers, which every order of adding sums exactly.
inline double given_to(int rank, std::int64_t element) {
  return static_cast<double>(1000 * (rank + 1) + element);
}

struct CollectiveOutcome {
  std::vector<double> values;
  std::int64_t sent_bytes = 0, received_bytes = 0;
};

inline plan::RankPlan plan_of(const OneCollective& c, int rank, const plan::Group& group) {
  plan::Op op;
  for (int kind = static_cast<int>(plan::OpKind::all_reduce);
       kind <= static_cast<int>(plan::OpKind::gather); ++kind)
    if (collective::collective_of(static_cast<plan::OpKind>(kind)) == c.collective)
      op.kind = static_cast<plan::OpKind>(kind);
  op.lane = plan::LaneId(0);
  op.bucket = op.group = 0;
  op.peer = c.rooted() ? c.root : -1;
  op.row = c.row;
  op.reads = op.writes = {{plan::BufferId(0), 0, c.elements()}};
  const plan::RankPlan coarse{rank,
                              {{"comm.g0", plan::LaneKind::comm, 0}},
                              {{"bucket", base::DType::fp64, c.elements(), true}},
                              {{"once", 0, 0, 1, {op}, {}}}};
  return collective::expand(coarse, {group}, c.algorithm);
}

inline void carry_out(const OneCollective& c, int rank, const plan::Group& group,
                      comm::Transport& transport, CollectiveOutcome& outcome) {
  const plan::RankPlan plan = plan_of(c, rank, group);
  const auto compute = compute::reference::make();
  std::vector<double> beside(static_cast<std::size_t>(run::layout(plan).private_bytes / 8 + 1));
  const auto bound = run::bind(plan, {group}, {}, {}, *compute,
                               std::as_writable_bytes(std::span(beside)), transport.arena());
  ASSERT_TRUE(bound) << base::to_string(bound.error());
  auto* data =
      reinterpret_cast<double*>(transport.arena().data() + run::layout(plan).buffers[0].offset);
  for (std::int64_t i = 0; i < c.elements(); ++i) data[i] = given_to(rank, i);
  run::Transfers transfers(transport, *compute, 1);
  const auto done = run::CollectiveRunner(plan, *bound, transfers).run(0, 0);
  ASSERT_TRUE(done) << base::to_string(done.error());
  outcome.values.assign(data, data + c.elements());
  for (int peer = 0; peer < c.ranks; ++peer) {
    if (peer == rank) continue;
    outcome.sent_bytes += static_cast<std::int64_t>(transport.traffic(peer).sent_payload_bytes);
    outcome.received_bytes +=
        static_cast<std::int64_t>(transport.traffic(peer).received_payload_bytes);
  }
}

inline std::vector<CollectiveOutcome> carried_out(const OneCollective& c,
                                                  const MakeTransports& make) {
  plan::Group group;
  group.ranks.resize(static_cast<std::size_t>(c.ranks));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  const auto ends = make(c.ranks, static_cast<std::size_t>(8 * c.elements() + run::kAlignment));
  std::vector<CollectiveOutcome> outcomes(static_cast<std::size_t>(c.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < c.ranks; ++rank)
    threads.emplace_back([&, rank] {
      carry_out(c, rank, group, *ends[static_cast<std::size_t>(rank)],
                outcomes[static_cast<std::size_t>(rank)]);
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// Nothing: it means nothing any more.
inline std::optional<double> wanted_of(const OneCollective& c, int rank, std::int64_t i) {
  using enum collective::Collective;
  double sum = 0;
  for (int other = 0; other < c.ranks; ++other) sum += given_to(other, i);
  const bool own = c.owner(i) == rank, is_root = rank == c.root;
  switch (c.collective) {
    case all_reduce: return sum;
    case reduce_scatter: return own ? std::optional(sum) : std::nullopt;
    case all_gather: return given_to(c.owner(i), i);
    case broadcast: return given_to(c.root, i);
    case reduce: return is_root ? std::optional(sum) : std::nullopt;
    case scatter: return own ? std::optional(given_to(c.root, i)) : std::nullopt;
    case gather: return is_root ? std::optional(given_to(c.owner(i), i)) : std::nullopt;
  }
  return std::nullopt;
}

// Total bytes of all ranks, and of one rank if they do not depend on the tree: S - c[p], (n - 1)
// c[p] or S - c[p + 1], ...; -1 if they do.
inline std::int64_t total_bytes(const OneCollective& c) {
  using enum collective::Collective;
  const std::int64_t n = c.ranks, all = 8 * c.elements();
  if (c.collective == all_reduce)
    return c.algorithm == collective::Algorithm::all_to_all ? n * (n - 1) * all : 2 * (n - 1) * all;
  if (c.collective == scatter || c.collective == gather) return all - c.bytes_of_chunk(c.root);
  return (n - 1) * all;
}

inline std::int64_t sent_bytes(const OneCollective& c, int rank) {
  using enum collective::Collective;
  const std::int64_t all = 8 * c.elements();
  const bool is_root = rank == c.root;
  switch (c.collective) {
    case reduce_scatter: return all - c.bytes_of_chunk(rank);
    case all_gather:
      return c.algorithm == collective::Algorithm::ring ? all - c.bytes_of_chunk(rank + 1)
                                                        : (c.ranks - 1) * c.bytes_of_chunk(rank);
    case reduce: return is_root ? 0 : all;
    case scatter: return is_root ? all - c.bytes_of_chunk(rank) : 0;
    case gather: return is_root ? 0 : c.bytes_of_chunk(rank);
    default: return -1;
  }
}

inline void expect_outcome(const OneCollective& c, const std::vector<CollectiveOutcome>& outcomes) {
  std::int64_t sent = 0, received = 0;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const CollectiveOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_EQ(std::ssize(outcome.values), c.elements());
    for (std::int64_t i = 0; i < c.elements(); ++i) {
      const double found = outcome.values[static_cast<std::size_t>(i)];
      ASSERT_EQ(found, wanted_of(c, rank, i).value_or(found))
          << "rank " << rank << ", element " << i;
    }
    const std::int64_t bytes = sent_bytes(c, rank);
    EXPECT_EQ(outcome.sent_bytes, bytes < 0 ? outcome.sent_bytes : bytes) << "rank " << rank;
    sent += outcome.sent_bytes;
    received += outcome.received_bytes;
  }
  EXPECT_EQ(sent, total_bytes(c));
  EXPECT_EQ(received, sent);
}

// Chunks that are uneven, and where there are fewer rows than ranks, empty.
inline void expect_every_collective(const MakeTransports& make) {
  using enum collective::Collective;
  for (const auto what :
       {all_reduce, reduce_scatter, all_gather, broadcast, reduce, scatter, gather})
    for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct})
      for (const int ranks : {2, 3, 5})
        for (const auto& [rows, row] :
             {std::pair<std::int64_t, std::int64_t>{37, 1}, {7, 3}, {2, 4}}) {
          const OneCollective c{what,      algorithm, ranks,
                                ranks - 1, rows,      collective::is_sharded(what) ? row : 1};
          SCOPED_TRACE(testing::PrintToString(c));
          expect_outcome(c, carried_out(c, make));
        }
}

}  // namespace trainyard::tests
