// SPDX-License-Identifier: GPL-3.0-or-later
// Memory block of the mailboxes of one host: the state that ranks (threads or processes) share,
// except the payload.
//
// Layout: abort word | one FutexEvent per rank | one Presence per rank | one Lane per (from, to,
// channel)
//
// A lane is a ring of descriptors with one writer and one reader. Its two counters only grow, each
// on a cache line of its own. All state is lock-free atomics and plain words ordered by them, so
// processes may map it at different addresses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/comm/futex_event.h"
#include "core/comm/problem_bytes.h"
#include "core/comm/transport.h"

namespace trainyard::comm {

constexpr std::uint64_t kLaneSlots = 16;

// Descriptor of a posted message: its length, and where its bytes are (`place`, whose meaning the
// transport defines).
struct Descriptor {
  Tag tag;
  // 1: the bytes are in the sender's staging area, in the slot of this descriptor
  std::uint32_t staged = 0;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;
};

struct Lane {
  alignas(64) std::atomic<std::uint64_t> posted{0};
  alignas(64) std::atomic<std::uint64_t> consumed{0};
  alignas(64) std::array<Descriptor, kLaneSlots> slots{};
};

struct alignas(64) Presence {
  // number of arrivals and departures of the rank's processes; odd while a process is present
  std::atomic<std::uint32_t> moves{0};
  std::atomic<std::int64_t> process{0};  // process id; 0 if ranks are threads
  // start time of the process in clock ticks since boot, which distinguishes processes that reuse
  // the same id
  std::atomic<std::int64_t> process_start{0};

  static constexpr bool has_left(std::uint32_t moves) { return moves > 0 && moves % 2 == 0; }
};

// Abort flag and reason. It can be set only once: the first reason is kept.
class AbortWord {
 public:
  bool raise(const base::Problem& reason);  // returns false if it was already set
  bool raised() const { return state_.load(std::memory_order_acquire) != State::clear; }
  std::optional<base::Problem> reason() const;

 private:
  enum class State : std::uint32_t { clear, being_written, set };
  alignas(64) std::atomic<State> state_{State::clear};
  std::uint32_t length_ = 0;
  std::array<std::byte, kMaxProblemBytes> text_{};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

class MailboxBlock {
 public:
  // Returns the size of the memory needed, a multiple of 64. There must be at least one rank and
  // one channel.
  static std::size_t bytes(int ranks, int channels);
  // Constructs the objects in zeroed memory aligned to 64 bytes; call once, before any rank reads
  // it.
  static MailboxBlock format(std::span<std::byte> memory, int ranks, int channels);
  // Creates a view of memory that was formatted for the same rank count and channel count.
  MailboxBlock(std::span<std::byte> memory, int ranks, int channels)
      : memory_(memory.data()), ranks_(ranks), channels_(channels) {}

  int ranks() const { return ranks_; }
  int channels() const { return channels_; }
  AbortWord& abort_word() const { return *reinterpret_cast<AbortWord*>(memory_); }
  FutexEvent& wake_event(int rank) const { return at<FutexEvent>(wake_events_offset(), rank); }
  Presence& presence(int rank) const { return at<Presence>(presences_offset(), rank); }
  Lane& lane(int from, int to, int channel) const {
    return at<Lane>(lanes_offset(), (from * ranks_ + to) * channels_ + channel);
  }

  // Sets the abort word and signals the events of all ranks.
  void abort(const base::Problem& reason) const;
  void notify_all_ranks() const;

 private:
  static constexpr std::size_t wake_events_offset() { return sizeof(AbortWord); }
  std::size_t presences_offset() const {
    return wake_events_offset() + sizeof(FutexEvent) * static_cast<std::size_t>(ranks_);
  }
  std::size_t lanes_offset() const {
    return presences_offset() + sizeof(Presence) * static_cast<std::size_t>(ranks_);
  }
  template <class T>
  T& at(std::size_t offset, int index) const {
    return reinterpret_cast<T*>(memory_ + offset)[index];
  }

  std::byte* memory_;
  int ranks_;
  int channels_;
};

}  // namespace trainyard::comm
