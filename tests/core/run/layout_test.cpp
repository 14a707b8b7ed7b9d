// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/layout.h"

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
  for (std::size_t b = 0; b < elements.size(); ++b) rank.buffers.push_back({"b" + std::to_string(b), base::DType::fp32, elements[b]});
  rank.programs = {{"train", 1, 1, 1, {}}};
  return rank;
}

void add(plan::RankPlan& rank, std::size_t program, LaneId lane, const std::vector<int>& reads, const std::vector<int>& writes) {
  plan::Op op;
  op.kind = plan::OpKind::forward;
  op.lane = lane;
  const auto whole = [&](int buffer) { return plan::Access{BufferId(buffer), 0, rank.buffers[static_cast<std::size_t>(buffer)].elements}; };
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

TEST(Layout, what_is_no_longer_read_makes_room_for_what_comes) {
  const Layout l = layout(chain());
  EXPECT_EQ(l.buffers[0].offset, l.buffers[2].offset);
  EXPECT_EQ(l.buffers[1].offset, l.buffers[3].offset);
  EXPECT_NE(l.buffers[0].offset, l.buffers[1].offset);
  EXPECT_EQ(l.private_bytes, 2 * 4032) << "two of 4000 bytes, to whole cache lines";
}

TEST(Layout, what_another_lane_touches_keeps_its_place) {
  plan::RankPlan rank = chain();
  add(rank, 0, kComm, {0}, {});
  EXPECT_EQ(layout(rank).private_bytes, 3 * 4032);
}

TEST(Layout, what_peers_read_lies_in_the_shared_arena) {
  plan::RankPlan rank = chain();
  rank.buffers[1].shared = true;
  const Layout l = layout(rank);
  EXPECT_TRUE(l.buffers[1].shared);
  EXPECT_EQ(l.shared_bytes, 4032);
  EXPECT_FALSE(l.buffers[0].shared);
}

// Memory in which every element knows whose it is.
class Memory {
 public:
  Memory(const plan::RankPlan& rank, Layout layout)
      : rank_(rank), layout_(std::move(layout)), owner_(static_cast<std::size_t>(layout_.private_bytes / 4), -1) {}
  void write(int buffer) {
    for (std::size_t i = begin(buffer); i < end(buffer); ++i) owner_[i] = buffer;
  }
  bool holds(int buffer) const {
    return std::all_of(owner_.begin() + static_cast<std::ptrdiff_t>(begin(buffer)), owner_.begin() + static_cast<std::ptrdiff_t>(end(buffer)),
                       [&](int owner) { return owner == buffer; });
  }

 private:
  std::size_t begin(int buffer) const { return static_cast<std::size_t>(layout_.buffers[static_cast<std::size_t>(buffer)].offset / 4); }
  std::size_t end(int buffer) const { return begin(buffer) + static_cast<std::size_t>(rank_.buffers[static_cast<std::size_t>(buffer)].elements); }
  const plan::RankPlan& rank_;
  Layout layout_;
  std::vector<int> owner_;
};

std::set<int> read_before_written(const plan::RankPlan& rank) {
  std::set<int> found;
  for (const plan::Program& program : rank.programs) {
    std::set<int> written;
    for (const plan::Op& op : program.ops) {
      for (const plan::Access& read : op.reads)
        if (!written.contains(read.buffer.value)) found.insert(read.buffer.value);
      for (const plan::Access& write : op.writes) written.insert(write.buffer.value);
    }
  }
  return found;
}

RC_GTEST_PROP(Layout, every_op_finds_what_was_written_last_to_what_it_reads, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::int64_t>>(6, rc::gen::inRange<std::int64_t>(1, 100));
  plan::RankPlan rank = plan_of(sizes);
  rank.programs.push_back({"evaluate", 1, 1, 1, {}});
  const auto some = [] { return *rc::gen::unique<std::vector<int>>(*rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange(0, 6)); };
  for (std::size_t program = 0; program < 2; ++program)
    for (int op = *rc::gen::inRange(1, 12); op > 0; --op) add(rank, program, *rc::gen::inRange(0, 8) == 0 ? kComm : kCompute, some(), some());
  const Layout placed = layout(rank);
  Memory memory(rank, placed);
  for (const int kept : read_before_written(rank)) memory.write(kept);
  for (const std::size_t program : {0, 0, 1, 0})
    for (const plan::Op& op : rank.programs[program].ops) {
      for (const plan::Access& read : op.reads) RC_ASSERT(memory.holds(read.buffer.value));
      for (const plan::Access& write : op.writes) memory.write(write.buffer.value);
    }
  std::int64_t all = 0;
  for (const plan::Buffer& buffer : rank.buffers) all += (buffer.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  RC_ASSERT(placed.private_bytes <= all);
}

}  // namespace
}  // namespace trainyard::run
