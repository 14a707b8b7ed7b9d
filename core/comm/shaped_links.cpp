// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/shaped_links.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace trainyard::comm {

using base::Problem;
using base::ProblemCode;
using base::Result;

struct alignas(64) ShapedLinks::Header {
  static constexpr std::uint64_t kMagic = 0x6b6e696c64726179;  // "yardlink" in ASCII
  std::uint64_t magic = kMagic;
  std::uint64_t bytes = 0;  // size of the file
  std::int64_t origin_ns = 0;
  pthread_mutex_t mutex;
  std::int32_t holder = -1;  // rank that holds, or last held, the lock
};

namespace {

constexpr const char* kWhere = "shaped links";
// Nanoseconds until the next check for a message that has arrived in the transport but is not
// registered in the links yet. A sender posts a message to the transport first, and to the links
// immediately afterwards.
constexpr std::int64_t kUnknownAgainNanoseconds = 20'000;
// maximum time until the next check; needed because a cut link may be restored
constexpr Picoseconds kMaxUncheckedTime = 20'000'000'000;

// maximum wait for the lock in seconds, on a very busy machine
constexpr time_t kMaxLockSeconds = 10;

int lock_within(pthread_mutex_t& mutex, time_t seconds) {
  timespec end{};
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += seconds;
  return ::pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end);
}

Problem foreign(const std::string& what) {
  return {"foreign_memory",
          ProblemCode::bad_input,
          kWhere,
          what,
          "the memfd that the launcher created",
          "Ranks are started by the coordinator, not by hand."};
}

Problem cannot(const char* what, int error) { return base::system_problem(kWhere, what, error); }

// Creates a mutex that processes share, and that reports the death of its holder to the next one.
int make_robust(pthread_mutex_t& mutex) {
  pthread_mutexattr_t kind;
  if (const int error = ::pthread_mutexattr_init(&kind)) return error;
  int error = ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  if (error == 0) error = ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  if (error == 0) error = ::pthread_mutex_init(&mutex, &kind);
  ::pthread_mutexattr_destroy(&kind);
  return error;
}

Result<void> check_shape(const DrawnLinks& drawn, int channels) {
  if (drawn.ranks >= 1 && channels >= 1) return {};
  return base::fail(
      {"bad_size", ProblemCode::bad_usage, kWhere,
       fmt::format("cannot be created for {} ranks and {} channels", drawn.ranks, channels),
       "1 or more of each", ""});
}

Result<int> make_file(std::size_t bytes) {
  const int fd = ::memfd_create("trainyard-links", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return base::fail(cannot("cannot create a memfd", errno));
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return fd;
  const Problem problem = cannot("cannot set the size of the memfd and seal it", errno);
  ::close(fd);
  return base::fail(problem);
}

// Returns the size of the file, which must be sealed: if another process could shrink it, access to
// the mapping would fail.
Result<std::size_t> sealed_size(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return base::fail(cannot("cannot get the state of the memfd", errno));
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return base::fail(foreign("the file is not sealed"));
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

Result<void> ShapedLinks::format(std::span<std::byte> memory, const DrawnLinks& drawn, int channels,
                                 std::int64_t origin_ns) {
  auto* header = new (memory.data()) Header;
  header->bytes = memory.size();
  header->origin_ns = origin_ns;
  if (const int error = make_robust(header->mutex))
    return base::fail(cannot("cannot create the lock", error));
  LinkShares::format(memory.subspan(sizeof(Header)), drawn, channels);
  return {};
}

Result<int> create_shaped_links(const DrawnLinks& drawn, int channels) {
  if (auto ok = check_shape(drawn, channels); !ok) return base::fail(ok.error());
  const std::size_t bytes = sizeof(ShapedLinks::Header) + LinkShares::bytes(drawn, channels);
  auto fd = make_file(bytes);
  if (!fd) return fd;
  auto map = MemoryMap::of_file(*fd, bytes);
  const Result<void> done =
      map ? ShapedLinks::format(map->bytes(), drawn, channels, base::now_nanoseconds())
          : base::fail(map.error());
  if (done) return fd;
  ::close(*fd);
  return base::fail(done.error());
}

Result<std::shared_ptr<ShapedLinks>> ShapedLinks::make(const DrawnLinks& drawn, int channels,
                                                       Clock clock) {
  if (auto ok = check_shape(drawn, channels); !ok) return base::fail(ok.error());
  auto map = MemoryMap::anonymous(sizeof(Header) + LinkShares::bytes(drawn, channels));
  if (!map) return base::fail(map.error());
  if (auto ok = format(map->bytes(), drawn, channels, clock()); !ok) return base::fail(ok.error());
  return std::shared_ptr<ShapedLinks>(new ShapedLinks(std::move(*map), std::move(clock)));
}

Result<std::shared_ptr<ShapedLinks>> ShapedLinks::open(int fd, Clock clock) {
  const auto size = sealed_size(fd);
  if (!size) return base::fail(size.error());
  if (*size < sizeof(Header)) return base::fail(foreign("the file is too short"));
  auto map = MemoryMap::of_file(fd, *size);
  if (!map) return base::fail(map.error());
  const auto* header = reinterpret_cast<const Header*>(map->bytes().data());
  if (header->magic != Header::kMagic || header->bytes != *size)
    return base::fail(foreign("the file does not contain shaped links"));
  return std::shared_ptr<ShapedLinks>(new ShapedLinks(std::move(*map), std::move(clock)));
}

ShapedLinks::ShapedLinks(MemoryMap memory, Clock clock)
    : memory_(std::move(memory)),
      header_(reinterpret_cast<Header*>(memory_.bytes().data())),
      shares_(memory_.bytes().data() + sizeof(Header)),
      clock_(std::move(clock)) {}

bool ShapedLinks::holds(const LaneName& lane) const {
  const auto among = [](int number, int count) { return number >= 0 && number < count; };
  return among(lane.from, shares_.ranks()) && among(lane.to, shares_.ranks()) &&
         lane.from != lane.to && among(lane.channel, shares_.channels());
}

Picoseconds ShapedLinks::now() const { return (clock_() - header_->origin_ns) * 1000; }

Result<void> ShapedLinks::lock(int rank) {
  int error = ::pthread_mutex_trylock(&header_->mutex);
  if (error == EBUSY) error = lock_within(header_->mutex, kMaxLockSeconds);
  if (error == ETIMEDOUT)
    return base::fail({"links_locked", ProblemCode::failed, fmt::format("rank {}", header_->holder),
                       "the rank hangs while it holds the lock of the shared links", "",
                       "See the log of this rank."});
  if (error != 0 && error != EOWNERDEAD)
    return base::fail(cannot("cannot acquire the lock", error));
  header_->holder = rank;
  if (error == EOWNERDEAD) {
    shares_.repair(now());
    // must be called after the repair: if this rank dies before the call, the next rank repairs the
    // state again
    ::pthread_mutex_consistent(&header_->mutex);
  }
  return {};
}

void ShapedLinks::unlock() { ::pthread_mutex_unlock(&header_->mutex); }

Result<void> ShapedLinks::post(const LaneName& lane, std::size_t bytes) {
  if (auto ok = lock(lane.from); !ok) return ok;
  const bool room = shares_.has_room(lane);
  if (room) shares_.post(lane, bytes, now());
  unlock();
  if (room) return {};
  return base::fail({"links_full", ProblemCode::failed, kWhere, "a channel holds too many messages",
                     fmt::format("at most {}", LinkShares::kLaneMessages), ""});
}

Result<ShapedLinks::MessageState> ShapedLinks::oldest(const LaneName& lane) {
  if (auto ok = lock(lane.to); !ok) return base::fail(ok.error());
  const Picoseconds at = now();
  const LinkShares::MessageState message_state = shares_.oldest(lane, at);
  unlock();
  if (!message_state.posted)
    return MessageState{false, at / 1000 + header_->origin_ns + kUnknownAgainNanoseconds};
  const Picoseconds again = message_state.arrived
                                ? message_state.next_check
                                : std::min(message_state.next_check, at + kMaxUncheckedTime);
  return MessageState{message_state.arrived, (again + 999) / 1000 + header_->origin_ns};
}

Result<void> ShapedLinks::set_fraction(int edge, double part) {
  if (edge < 0 || 2 * edge + 1 >= shares_.ways() || !(part >= 0 && part <= 1))
    return base::fail(
        {"bad_link_fraction", ProblemCode::bad_usage, kWhere,
         fmt::format("edge {} does not exist, or {} is not a fraction of its drawn bandwidth", edge,
                     part),
         "an edge of the drawing, and 0 to 1", ""});
  if (auto ok = lock(-1); !ok) return ok;
  for (const DirectedLink way : {2 * edge, 2 * edge + 1}) shares_.set_fraction(way, part, now());
  unlock();
  return {};
}

Result<void> ShapedLinks::forget(const LaneName& lane, int by) {
  if (auto ok = lock(by); !ok) return ok;
  shares_.forget(lane, now());
  unlock();
  return {};
}

Result<void> ShapedLinks::release(const LaneName& lane) {
  if (auto ok = lock(lane.to); !ok) return ok;
  shares_.release(lane);
  unlock();
  return {};
}

}  // namespace trainyard::comm
