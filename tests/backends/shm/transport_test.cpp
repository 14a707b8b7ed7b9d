// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/transport.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/shm/layout.h"
#include "core/base/descriptor.h"
#include "core/comm/mailbox_block.h"
#include "core/comm/memory_map.h"
#include "tests/conformance/shaped_backend.h"
#include "tests/conformance/transport_conformance.h"
#include "tests/conformance/transport_faults.h"
#include "tests/conformance/transport_losses.h"

namespace trainyard::conformance {
namespace {

std::shared_ptr<base::Descriptor> make_file(int ranks, std::size_t arena_bytes, int channels) {
  const auto fd =
      shm::create(std::vector<std::size_t>(static_cast<std::size_t>(ranks), arena_bytes), channels);
  EXPECT_TRUE(fd) << to_string(fd.error());
  return std::make_shared<base::Descriptor>(fd.value_or(-1));
}

Backend shm_backend() {
  const auto prepare = [](const Shape& shape) -> Opener {
    return [file = make_file(shape.ranks, shape.arena_bytes, shape.channels)](
               int rank, std::uint32_t generation) {
      return shm::open(file->get(), rank, {}, generation > 1);
    };
  };
  return {"shm", prepare, true, true, {}};
}

INSTANTIATE_TEST_SUITE_P(shm, TransportConformance, testing::Values(shm_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_shm, TransportConformance, testing::Values(shaped(shm_backend())));
INSTANTIATE_TEST_SUITE_P(shm, TransportFaults, testing::Values(shm_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_shm, TransportFaults, testing::Values(shaped(shm_backend())));
INSTANTIATE_TEST_SUITE_P(shm, TransportLosses,
                         testing::Values(shm_backend(), shaped(shm_backend())));

TEST(ShmTransport, refuses_long_messages_outside_the_arena_with_advice) {
  const auto file = make_file(2, 4096, 1);
  const auto end = shm::open(file->get(), 0);
  ASSERT_TRUE(good(end));
  const std::vector<std::byte> outside(shm::kMaxStagedBytes + 1);
  const auto posted = (*end)->post(1, 0, tag_of(0), outside);
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().id, "message_too_long");
  EXPECT_TRUE(good((*end)->post(1, 0, tag_of(0), std::span(outside).first(shm::kMaxStagedBytes))));
}

// Two ranks whose arenas lie on a device from byte 4096 on; here the device's memory is this
// process's.
class DeviceMemory : public testing::Test {
 protected:
  static constexpr std::size_t kFrom = 4096;
  void SetUp() override {
    for (const auto& end : {&first_, &second_})
      ASSERT_TRUE(good((*end)->set_device_arenas({{kFrom, of_first_}, {kFrom, of_second_}})));
  }
  std::span<const std::byte> received() { return second_->receive(0, 0).value().value().bytes; }

  std::shared_ptr<base::Descriptor> file_ = make_file(2, 2 * kFrom, 1);
  std::unique_ptr<shm::Transport> first_ = std::move(shm::open(file_->get(), 0).value()),
                                  second_ = std::move(shm::open(file_->get(), 1).value());
  std::vector<std::byte> of_first_ = std::vector<std::byte>(kFrom), of_second_ = of_first_;
};

TEST_F(DeviceMemory, messages_are_read_from_the_device_of_the_sender) {
  EXPECT_TRUE(first_->post(1, 0, tag_of(0), std::span(of_first_).subspan(100, 50)).value());
  EXPECT_EQ(received().data(), of_first_.data() + 100);
  EXPECT_EQ(received().size(), 50U);
}

TEST_F(DeviceMemory, memory_before_the_device_range_is_in_shared_memory) {
  first_->arena()[10] = std::byte{7};
  EXPECT_TRUE(first_->post(1, 0, tag_of(0), first_->arena().subspan(10, 50)).value());
  EXPECT_EQ(received().front(), std::byte{7});
  EXPECT_NE(received().data(), of_first_.data() + 10);
}

TEST_F(DeviceMemory, message_across_both_memories_is_refused) {
  EXPECT_TRUE(first_->post(1, 0, tag_of(0), first_->arena().subspan(kFrom - 10, 20)).value());
  const auto message = second_->receive(0, 0);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().id, "message_outside_arena");
  EXPECT_NE(message.error().what.find("rank 0 "), std::string::npos) << message.error().what;
}

TEST_F(DeviceMemory, memory_of_another_length_is_refused) {
  EXPECT_FALSE(first_->set_device_arenas({{kFrom, of_first_}, {kFrom - 1, of_second_}}));
  EXPECT_FALSE(first_->set_device_arenas({{kFrom, of_first_}}));
}

TEST(ShmTransport, coordinator_aborts_waiting_processes) {
  const auto file = make_file(2, 4096, 1);
  Processes ranks(2, [&](int rank, const Processes::Ready& ready) -> std::string {
    const auto end = shm::open(file->get(), rank);
    if (!end) return to_string(end.error());
    ready();
    const auto message = comm::await_expected(**end, 1 - rank, 0, {tag_of(0), 0}, patient);
    return !message && message.error().id == "made_by_test" ? "" : "the reason did not come";
  });
  ASSERT_TRUE(ranks.wait_until_ready(2));
  ASSERT_TRUE(good(shm::abort_all(file->get(), {"made_by_test", base::ProblemCode::canceled,
                                                "coordinator", "the run was stopped", "", ""})));
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(ranks.ended_well(rank)) << rank;
}

TEST(ShmTransport, opens_a_rank_once) {
  const auto file = make_file(2, 4096, 1);
  const auto first = shm::open(file->get(), 0);
  ASSERT_TRUE(good(first));
  EXPECT_FALSE(shm::open(file->get(), 0));
  EXPECT_FALSE(shm::open(file->get(), 2));
  EXPECT_FALSE(shm::open(file->get(), -1));
}

TEST(ShmTransport, refuses_foreign_files) {
  EXPECT_FALSE(shm::open(-1, 0));
  const base::Descriptor empty(::memfd_create("empty", 0)), zeros(::memfd_create("zeros", 0)),
      unsealed(::memfd_create("unsealed", 0));
  EXPECT_FALSE(shm::open(empty.get(), 0));
  ASSERT_EQ(::ftruncate(zeros.get(), 1 << 20), 0);
  EXPECT_FALSE(shm::open(zeros.get(), 0));
  ASSERT_TRUE(good(shm::write_header(unsealed.get(), {4096, 4096}, 1)));
  EXPECT_FALSE(shm::open(unsealed.get(), 0)) << "too short for its header";
  ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<off_t>(shm::lay_out({4096, 4096}, 1)->bytes)),
            0);
  EXPECT_FALSE(shm::open(unsealed.get(), 0)) << "the file could shrink while it is read";
  EXPECT_FALSE(shm::abort_all(zeros.get(), {}));
}

TEST(ShmTransport, refuses_invalid_sizes) {
  EXPECT_FALSE(shm::create({}, 1));
  EXPECT_FALSE(shm::create({4096}, 0));
  EXPECT_FALSE(shm::create({4096}, shm::kMaxChannels + 1));
  EXPECT_FALSE(shm::create({SIZE_MAX}, 1));
}

TEST(ShmTransport, file_can_neither_grow_nor_shrink) {
  const auto file = make_file(1, 4096, 1);
  EXPECT_NE(::ftruncate(file->get(), 0), 0);
  EXPECT_NE(::ftruncate(file->get(), off_t{1} << 30), 0);
}

// Rank 1 with a peer whose words in shared memory are written by hand.
class CorruptPeer : public testing::Test {
 protected:
  void SetUp() override {
    auto end = shm::open(file_->get(), 1);
    auto map = comm::MemoryMap::of_file(file_->get(), layout_.bytes);
    ASSERT_TRUE(end && map);
    end_ = std::move(*end);
    map_ = std::move(*map);
  }
  comm::Lane& lane(int from, int to) {
    return comm::MailboxBlock(map_.bytes().subspan(layout_.block_offset, layout_.block_bytes), 2, 1)
        .lane(from, to, 0);
  }
  void post(const comm::Descriptor& descriptor) {
    lane(0, 1).slots[0] = descriptor;
    lane(0, 1).posted = 1;
  }

  std::shared_ptr<base::Descriptor> file_ = make_file(2, 4096, 1);
  shm::Layout layout_ = *shm::lay_out({4096, 4096}, 1);
  comm::MemoryMap map_;
  std::unique_ptr<Transport> end_;
};

TEST_F(CorruptPeer, cannot_cause_reads_outside_its_arena) {
  for (const auto& [place, bytes] : {std::pair<std::uint64_t, std::uint64_t>(0, 4097),
                                     {4096, 1},
                                     {4097, 1},
                                     {UINT64_MAX, 2},
                                     {2, UINT64_MAX},
                                     {1ull << 40, 1}}) {
    post({tag_of(0), 0, place, bytes});
    EXPECT_FALSE(end_->receive(0, 0)) << place << " " << bytes;
  }
  post({tag_of(0), 0, 4095, 1});
  EXPECT_TRUE(good(end_->receive(0, 0)));
}

TEST_F(CorruptPeer, cannot_cause_reads_beyond_its_slot) {
  post({tag_of(0), 1, 0, shm::kMaxStagedBytes + 1});
  EXPECT_FALSE(end_->receive(0, 0));
}

TEST_F(CorruptPeer, with_impossible_counters_is_a_problem) {
  lane(0, 1).posted = 1000;
  EXPECT_FALSE(end_->receive(0, 0));
  lane(1, 0).consumed = 1;
  EXPECT_FALSE(end_->consumed(0, 0));
}

}  // namespace
}  // namespace trainyard::conformance
