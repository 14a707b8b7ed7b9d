// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace trainyard::run {
namespace {

using plan::BufferId;
using plan::LaneId;

const LaneId kCompute{0}, kComm{1};

plan::RankPlan plan_of(const std::vector<std::int64_t>& elements) {
  plan::RankPlan rank;
  rank.lanes = {{"compute", plan::LaneKind::compute, -1}, {"comm", plan::LaneKind::comm, 0}};
  for (std::size_t b = 0; b < elements.size(); ++b)
    rank.buffers.push_back({"b" + std::to_string(b), base::DType::fp32, elements[b]});
  rank.programs = {{"train", 1, 1, 1, {}}};
  return rank;
}

void add(plan::RankPlan& rank, std::size_t program, LaneId lane, const std::vector<int>& reads,
         const std::vector<int>& writes) {
  plan::Op op;
  op.kind = plan::OpKind::forward;
  op.lane = lane;
  const auto whole = [&](int buffer) {
    return plan::Access{BufferId(buffer), 0,
                        rank.buffers[static_cast<std::size_t>(buffer)].elements};
  };
  for (const int buffer : reads) op.reads.push_back(whole(buffer));
  for (const int buffer : writes) op.writes.push_back(whole(buffer));
  rank.programs[program].ops.push_back(op);
}

// A chain: each op reads what the one before it wrote.
plan::RankPlan chain() {
  plan::RankPlan rank = plan_of({1000, 1000, 1000, 1000});
  add(rank, 0, kCompute, {}, {0});
  for (int b = 1; b < 4; ++b) add(rank, 0, kCompute, {b - 1}, {b});
  return rank;
}

TEST(Layout, reuses_memory_of_values_that_are_no_longer_read) {
  const Layout l = layout(chain());
  EXPECT_EQ(l.buffers[0].offset, l.buffers[2].offset);
  EXPECT_EQ(l.buffers[1].offset, l.buffers[3].offset);
  EXPECT_NE(l.buffers[0].offset, l.buffers[1].offset);
  EXPECT_EQ(l.private_bytes, 2 * 4032) << "two of 4000 bytes, to whole cache lines";
}

TEST(Layout, does_not_reuse_memory_that_another_lane_accesses) {
  plan::RankPlan rank = chain();
  add(rank, 0, kComm, {0}, {});
  EXPECT_EQ(layout(rank).private_bytes, 3 * 4032);
}

TEST(Layout, places_buffers_that_peers_read_in_the_shared_arena) {
  plan::RankPlan rank = chain();
  rank.buffers[1].shared = true;
  const Layout l = layout(rank);
  EXPECT_TRUE(l.buffers[1].shared);
  EXPECT_EQ(l.shared_bytes, 4032);
  EXPECT_FALSE(l.buffers[0].shared);
}

TEST(Layout, places_buffers_of_the_host_first_and_contiguously) {
  plan::RankPlan rank = chain();
  rank.buffers.push_back({"metrics", base::DType::fp64, 2});
  rank.buffers.push_back({"rate", base::DType::fp64, 1});
  add(rank, 0, kComm, {0}, {});
  const Layout l = layout(rank);
  EXPECT_EQ(l.buffers[4].offset, 0);
  EXPECT_EQ(l.buffers[5].offset, 64);
  EXPECT_EQ(l.result_bytes, 128);
  EXPECT_EQ(l.buffers[0].offset, 128);
}

// A buffer that is overwritten before its next read frees its memory in between, like an output
// that is discarded and recomputed.
TEST(Layout, reuses_memory_of_recomputed_outputs_in_between) {
  plan::RankPlan rank = plan_of({1000, 1000, 1000});
  add(rank, 0, kCompute, {}, {0});
  add(rank, 0, kCompute, {0}, {1});
  add(rank, 0, kCompute, {1}, {2});
  add(rank, 0, kCompute, {2}, {1});
  add(rank, 0, kCompute, {1}, {0});
  add(rank, 0, kCompute, {0}, {});
  const Layout l = layout(rank);
  EXPECT_EQ(l.buffers[0].offset, l.buffers[2].offset);
  EXPECT_EQ(l.private_bytes, 2 * 4032);
}

// Memory in which every element knows who wrote it last.
class Memory {
 public:
  Memory(const plan::RankPlan& rank, Layout layout)
      : layout_(std::move(layout)),
        writer_(static_cast<std::size_t>(layout_.private_bytes / 4), 0) {
    for (const plan::Buffer& buffer : rank.buffers)
      wanted_.emplace_back(static_cast<std::size_t>(buffer.elements), 0);
  }
  void write(const plan::Access& access) {
    ++writes_;
    for (std::int64_t i = access.first; i < access.first + access.count; ++i)
      at(access, i) = wanted_[access.buffer.index()][static_cast<std::size_t>(i)] = writes_;
  }
  bool holds(const plan::Access& access) {
    for (std::int64_t i = access.first; i < access.first + access.count; ++i)
      if (at(access, i) != wanted_[access.buffer.index()][static_cast<std::size_t>(i)])
        return false;
    return true;
  }

 private:
  int& at(const plan::Access& access, std::int64_t element) {
    return writer_[static_cast<std::size_t>(layout_.buffers[access.buffer.index()].offset / 4 +
                                            element)];
  }
  Layout layout_;
  std::vector<int> writer_;               // by place in memory
  std::vector<std::vector<int>> wanted_;  // by buffer and element: who wrote it last
  int writes_ = 0;
};

// Buffers of which a program reads an element that it has not written.
std::set<int> read_before_written(const plan::RankPlan& rank) {
  std::set<int> found;
  for (const plan::Program& program : rank.programs) {
    std::set<std::pair<int, std::int64_t>> written;
    for (const plan::Op& op : program.ops) {
      for (const plan::Access& read : op.reads)
        for (std::int64_t i = read.first; i < read.first + read.count; ++i)
          if (!written.contains({read.buffer.value, i})) found.insert(read.buffer.value);
      for (const plan::Access& write : op.writes)
        for (std::int64_t i = write.first; i < write.first + write.count; ++i)
          written.insert({write.buffer.value, i});
    }
  }
  return found;
}

// All of a buffer, mostly, or some of it.
void narrow(std::vector<plan::Access>& accesses) {
  for (plan::Access& access : accesses) {
    if (*rc::gen::inRange(0, 3) > 0) continue;
    const std::int64_t all = access.count;
    access.first = *rc::gen::inRange<std::int64_t>(0, all);
    access.count = *rc::gen::inRange<std::int64_t>(1, all - access.first + 1);
  }
}

RC_GTEST_PROP(Layout, gives_every_op_the_last_value_written_to_its_input, ()) {
  const auto sizes =
      *rc::gen::container<std::vector<std::int64_t>>(6, rc::gen::inRange<std::int64_t>(1, 100));
  plan::RankPlan rank = plan_of(sizes);
  rank.programs.push_back({"evaluate", 1, 1, 1, {}});
  const auto some = [] {
    return *rc::gen::unique<std::vector<int>>(*rc::gen::inRange<std::size_t>(0, 3),
                                              rc::gen::inRange(0, 6));
  };
  for (std::size_t program = 0; program < 2; ++program)
    for (int op = *rc::gen::inRange(1, 20); op > 0; --op) {
      add(rank, program, *rc::gen::inRange(0, 8) == 0 ? kComm : kCompute, some(), some());
      narrow(rank.programs[program].ops.back().reads);
      narrow(rank.programs[program].ops.back().writes);
    }
  const Layout placed = layout(rank);
  Memory memory(rank, placed);
  for (const int kept : read_before_written(rank))
    memory.write({BufferId(kept), 0, rank.buffers[static_cast<std::size_t>(kept)].elements});
  for (const std::size_t program : {0, 0, 1, 0})
    for (const plan::Op& op : rank.programs[program].ops) {
      for (const plan::Access& read : op.reads) RC_ASSERT(memory.holds(read));
      for (const plan::Access& write : op.writes) memory.write(write);
      for (const plan::Access& write : op.writes) RC_ASSERT(memory.holds(write));
    }
  std::int64_t all = 0;
  for (const plan::Buffer& buffer : rank.buffers)
    all += (buffer.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  RC_ASSERT(placed.private_bytes <= all);
}

// Ops of a chain that is cut into runs: all outputs are written, some more than once, and read by
// the op after them, as passes with outputs made again do.
RC_GTEST_PROP(Layout, gives_every_op_its_input_with_recomputed_outputs, ()) {
  const int count = *rc::gen::inRange(3, 7);
  plan::RankPlan rank = plan_of(std::vector<std::int64_t>(static_cast<std::size_t>(count), 16));
  add(rank, 0, kCompute, {}, {0});
  for (int op = *rc::gen::inRange(5, 40), last = 0; op > 0; --op) {
    const int next = *rc::gen::inRange(0, count);
    if (next == last) continue;
    add(rank, 0, kCompute, {last}, {next});
    last = next;
  }
  Memory memory(rank, layout(rank));
  for (const plan::Op& op : rank.programs[0].ops) {
    for (const plan::Access& read : op.reads) RC_ASSERT(memory.holds(read));
    for (const plan::Access& write : op.writes) memory.write(write);
  }
}

}  // namespace
}  // namespace trainyard::run
