// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/mailbox_block.h"

#include <algorithm>
#include <new>
#include <thread>

#include "core/base/clock.h"

namespace trainyard::comm {
namespace {

constexpr std::int64_t max_write_nanoseconds =
    100'000'000;  // maximum nanoseconds to write 160 bytes, on a very busy machine

}  // namespace

bool AbortWord::raise(const base::Problem& reason) {
  State expected = State::clear;
  if (!state_.compare_exchange_strong(expected, State::being_written, std::memory_order_acq_rel))
    return false;
  const auto text = to_bytes(reason);
  std::copy(text.begin(), text.end(), text_.begin());
  length_ = static_cast<std::uint32_t>(text.size());
  state_.store(State::set, std::memory_order_release);
  return true;
}

std::optional<base::Problem> AbortWord::reason() const {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::clear) return std::nullopt;
  const std::int64_t end = base::now_nanoseconds() + max_write_nanoseconds;
  while (state == State::being_written && base::now_nanoseconds() < end) {
    std::this_thread::yield();
    state = state_.load(std::memory_order_acquire);
  }
  if (state == State::set)
    return problem_from_bytes(std::span(text_).first(std::min<std::size_t>(length_, text_.size())));
  // The writer was killed while it wrote the reason: there was an abort, but its text may be
  // incomplete.
  return base::Problem{"aborted",   base::ProblemCode::failed,
                       "transport", "a rank aborted without writing its reason",
                       "",          ""};
}

std::size_t MailboxBlock::bytes(int ranks, int channels) {
  const auto n = static_cast<std::size_t>(ranks);
  return sizeof(AbortWord) + n * (sizeof(FutexEvent) + sizeof(Presence)) +
         n * n * static_cast<std::size_t>(channels) * sizeof(Lane);
}

MailboxBlock MailboxBlock::format(std::span<std::byte> memory, int ranks, int channels) {
  const MailboxBlock block(memory, ranks, channels);
  const auto n = static_cast<std::size_t>(ranks);
  new (memory.data()) AbortWord;
  std::uninitialized_default_construct_n(&block.wake_event(0), n);
  std::uninitialized_default_construct_n(&block.presence(0), n);
  std::uninitialized_default_construct_n(&block.lane(0, 0, 0),
                                         n * n * static_cast<std::size_t>(channels));
  return block;
}

void MailboxBlock::abort(const base::Problem& reason) const {
  abort_word().raise(reason);
  notify_all_ranks();
}

void MailboxBlock::notify_all_ranks() const {
  for (int rank = 0; rank < ranks_; ++rank) ring(wake_event(rank));
}

}  // namespace trainyard::comm
