// SPDX-License-Identifier: GPL-3.0-or-later
// Description by which a transport backend joins the conformance suite, and common parts of the
// suite's tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/comm/expect.h"
#include "core/comm/transport.h"
#include "core/compute/ops.h"

namespace trainyard::conformance {

using comm::Tag;
using comm::Transport;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Shape {
  int ranks = 2;
  int channels = 2;
  std::size_t arena_bytes = std::size_t{1} << 20;
};

// Opens the end of a rank, in the thread or process of that rank. Generation 2: in the place of one
// that was lost.
class Opener {
 public:
  using Open =
      std::function<base::Result<std::unique_ptr<Transport>>(int rank, std::uint32_t generation)>;
  template <class Function>
  Opener(Function open) : open_(std::move(open)) {}
  base::Result<std::unique_ptr<Transport>> operator()(int rank,
                                                      std::uint32_t generation = 1) const {
    return open_(rank, generation);
  }

 private:
  Open open_;
};

struct Backend {
  std::string name;
  std::function<Opener(const Shape&)> prepare;  // before threads or processes start
  bool in_place = false;                        // peers read the arena where it is
  bool processes = false;  // ranks may be processes, and one take another's place
  std::function<bool(Transport&)> connected;  // where reaching peers takes time: whether it is done
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

constexpr auto patient = seconds(20);  // far more than anything here takes

inline Tag tag_of(int op) { return {1, 0, static_cast<std::uint32_t>(op)}; }

inline std::unique_ptr<Transport> opened(const Opener& opener, int rank) {
  auto end = opener(rank);
  if (!end) ADD_FAILURE() << to_string(end.error());
  return end ? std::move(*end) : nullptr;
}

inline std::unique_ptr<Transport> reopened(const Opener& opener, int rank) {
  auto end = opener(rank, 2);
  if (!end) ADD_FAILURE() << to_string(end.error());
  return end ? std::move(*end) : nullptr;
}

// Memory that a rank may post from: its arena where there is one, else `own` of the same size.
inline std::span<std::byte> postable(Transport& end, std::vector<std::byte>& own,
                                     std::size_t bytes) {
  if (end.arena().size() >= bytes) return end.arena().first(bytes);
  own.resize(bytes);
  return own;
}

// All ends in one thread, and what keeps them reachable.
class Group {
 public:
  Group(const Backend& backend, const Shape& shape)
      : backend_(backend), opener_(backend.prepare(shape)) {
    for (int rank = 0; rank < shape.ranks; ++rank) ends_.push_back(opened(opener_, rank));
    connect();
  }
  std::unique_ptr<Transport>& operator[](std::size_t rank) { return ends_[rank]; }

  void replace(int rank) {
    ends_[static_cast<std::size_t>(rank)] = reopened(opener_, rank);
    connect();
  }

  // Messages that were posted and not consumed may still be in flight when a test ends: this memory
  // outlives the ends.
  std::span<std::byte> postable(Transport& end, std::size_t bytes) {
    return conformance::postable(end, memory_.emplace_back(), bytes);
  }

 private:
  // One thread has all ends here, so it must give each of them its turn.
  void connect() {
    if (!backend_.connected) return;
    const auto all = [&] {
      return std::all_of(ends_.begin(), ends_.end(),
                         [&](auto& end) { return backend_.connected(*end); });
    };
    for (const auto limit = std::chrono::steady_clock::now() + patient;
         !all() && std::chrono::steady_clock::now() < limit;)
      for (const auto& end : ends_) end->wait(milliseconds(1));
  }

  Backend backend_;
  Opener opener_;
  std::deque<std::vector<std::byte>> memory_;
  std::vector<std::unique_ptr<Transport>> ends_;
};

// Runs `body` for each rank in a thread of its own, which opens its end.
inline void in_threads(const Backend& backend, const Shape& shape,
                       const std::function<void(Transport&)>& body) {
  const Opener opener = backend.prepare(shape);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.ranks; ++rank)
    threads.emplace_back([&, rank] {
      if (const auto end = opened(opener, rank)) body(*end);
    });
  for (std::thread& thread : threads) thread.join();
}

// Bytes that tell their place and seed.
inline std::byte pattern(std::size_t at, unsigned seed) {
  return static_cast<std::byte>((at * 2654435761u >> 7) + seed * 101u);
}
inline void fill(std::span<std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(i, seed);
}
inline bool is_filled(std::span<const std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(i, seed)) return false;
  return true;
}

template <class T>
bool good(const base::Result<T>& result) {
  if (!result) ADD_FAILURE() << to_string(result.error());
  return result.has_value();
}

// Posts what already lies in `bytes`, and receives it at the other end.
inline void pass(Transport& from, Transport& to, int channel, int op,
                 std::span<const std::byte> bytes) {
  ASSERT_TRUE(good(comm::await_post(from, to.rank(), channel, tag_of(op), bytes, patient)));
  const auto message =
      comm::await_expected(to, from.rank(), channel, {tag_of(op), bytes.size()}, patient);
  ASSERT_TRUE(good(message));
  EXPECT_TRUE(bytes.empty() || std::memcmp(message->bytes.data(), bytes.data(), bytes.size()) == 0);
  ASSERT_TRUE(good(to.release(from.rank(), channel)));
}

}  // namespace trainyard::conformance
