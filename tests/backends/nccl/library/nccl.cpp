// SPDX-License-Identifier: GPL-3.0-or-later
// Substitute for NCCL's library: the functions that the engine calls, according to NCCL's guide,
// for ranks that are processes or threads of one machine. All members of a group send to its first
// member and receive from it. Streams are HostStreams.
//
// As with NCCL over a network, a call is complete on its stream when its data were passed to the
// proxy; they leave when the receiver asks for them. Abort discards data that have not left;
// finalize completes when all have left. Two ranks on one GPU of one host are refused. Two ranks
// that send to each other for the first time connect before that: until the peer calls too, and
// until the rank's device, from which memory may be allocated, is idle, the call is in progress and
// not on the stream.
#include <nccl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "tests/backends/nccl/stand_in/host_stream.h"

namespace trainyard::nccl::stand_in {

constexpr int kWords = 4;  // of an id
std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64: return 8;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclUint8: return 1;
    default: return 4;
  }
}

// Location of a rank for NCCL: its host, by NCCL_HOSTID, and its GPU, if it names one.
struct RankLocation {
  static RankLocation own() {
    RankLocation place;
    if (const char* const gpu = std::getenv("TRAINYARD_STAND_IN_GPU")) place.gpu = std::atoi(gpu);
    if (const char* const host = std::getenv("NCCL_HOSTID"))
      std::strncpy(place.host.data(), host, place.host.size() - 1);
    return place;
  }
  bool is_taken_by(const RankLocation& other) const {
    return gpu >= 0 && gpu == other.gpu && host == other.host;
  }
  int gpu = -1;
  std::array<char, 64> host{};
};

// Data passed to the proxy.
struct Letter {
  int to = 0;
  std::vector<char> data;
};

// A group, as one member has it: of the first two connections to each, of others two to the first,
// one for what goes out and one for what comes in. On each, who receives asks first.
class Members : public std::enable_shared_from_this<Members> {
 public:
  Members(const ncclUniqueId& id, int position, int size)
      : position_(position),
        size_(size),
        out_(static_cast<std::size_t>(size), -1),
        in_(out_),
        meets_(out_),
        sender_([this](const std::stop_token& stop) { serve(stop); }) {
    std::memcpy(name_.sun_path + 1, id.internal, kWords * sizeof(std::uint32_t));
  }
  ~Members() {
    sender_.request_stop();
    sender_.join();
    for_each_socket([](int socket) { ::close(socket); });
  }

  int position() const { return position_; }
  int size() const { return size_; }
  ncclResult_t state() const {
    const ncclResult_t state = state_;
    return state == ncclSuccess && (meeting_ || (finalized_ && under_way_ > 0)) ? ncclInProgress
                                                                                : state;
  }
  // Before the first call of a direction: then(this), when the other has come to it as well, and
  // all that is on the rank's device is through.
  template <class Then>
  ncclResult_t meet(int other, bool sends, HostStream& stream, const Then& then) {
    if (std::exchange(has_met_[sends ? 1 : 0], true)) return then(*this), ncclSuccess;
    meeting_ = true;
    meeter_ = std::jthread([this, other, &stream, then] {
      while (!over_ && !stream.rank_is_idle())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const int socket = socket_to(meets_, other);
      char text = 0;
      std::size_t one = 1, another = 1;
      if (state_ == ncclSuccess) moved(&text, one, ::send(socket, &text, one, MSG_NOSIGNAL));
      if (state_ == ncclSuccess) moved(&text, another, ::recv(socket, &text, another, 0));
      if (state_ == ncclSuccess) then(*this);
      meeting_ = false;
    });
    return ncclInProgress;
  }
  void finalize() { finalized_ = true; }
  // Ends all operations in progress; they touch no memory afterwards.
  void end() {
    over_ = true;
    for_each_socket([](int socket) { ::shutdown(socket, SHUT_RDWR); });
    if (meeter_.joinable()) meeter_.join();
    const std::lock_guard at_work(working_);
  }
  void begin() { ++under_way_; }
  void work(const std::function<void(Members&)>& work) {
    const std::lock_guard at_work(working_);
    if (!over_) work(*this);
    --under_way_;
  }

  void join() {
    const bool joined = position_ == 0 ? listen() : find();
    state_ = !joined ? ncclRemoteError : any_is_taken() ? ncclInvalidUsage : ncclSuccess;
  }

  void send(int to, const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const char*>(data);
    ++under_way_;
    const std::lock_guard lock(mutex_);
    outbox_.push_back({to, {from, from + bytes}});
    changed_.notify_all();
  }
  void receive(int from, void* data, std::size_t bytes) {
    constexpr char kAsk = 0;
    const int socket = socket_to(in_, from);
    std::size_t asks = 1;
    if (state_ == ncclSuccess) moved(&kAsk, asks, ::send(socket, &kAsk, asks, MSG_NOSIGNAL));
    auto* at = static_cast<char*>(data);
    while (bytes > 0 && state_ == ncclSuccess)
      at = const_cast<char*>(moved(at, bytes, ::recv(socket, at, bytes, 0)));
  }

 private:
  using Sockets = std::vector<int>;
  int socket_to(const Sockets& sockets, int other) const {
    return sockets[static_cast<std::size_t>(position_ == 0 ? other : 0)];
  }

  template <class Work>
  void for_each_socket(const Work& work) const {
    for (const Sockets* sockets : {&out_, &in_, &meets_})
      for (const int socket : *sockets)
        if (socket >= 0) work(socket);
  }

  const char* moved(const char* at, std::size_t& left, ssize_t count) {
    if (count <= 0) return state_ = ncclRemoteError, at;
    left -= static_cast<std::size_t>(count);
    return at + count;
  }

  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !outbox_.empty(); })) {
      const Letter letter = std::move(outbox_.front());
      outbox_.pop_front();
      lock.unlock();
      deliver(letter);
      --under_way_;
      lock.lock();
    }
  }

  void deliver(const Letter& letter) {
    const int socket = socket_to(out_, letter.to);
    char ask = 0;
    std::size_t asks = 1, left = letter.data.size();
    if (state_ == ncclSuccess) moved(&ask, asks, ::recv(socket, &ask, asks, 0));
    const char* at = letter.data.data();
    while (left > 0 && state_ == ncclSuccess)
      at = moved(at, left, ::send(socket, at, left, MSG_NOSIGNAL));
  }

  sockaddr* name() { return reinterpret_cast<sockaddr*>(&name_); }
  static constexpr socklen_t kLength =
      offsetof(sockaddr_un, sun_path) + 1 + kWords * sizeof(std::uint32_t);

  // Purpose of a connection, and the rank that opened it.
  enum class Use : char { sends, receives, meets };
  struct Hello {
    int position = 0;
    Use use = Use::sends;
    RankLocation place = RankLocation::own();
  };

  bool listen() {
    const int door = ::socket(AF_UNIX, SOCK_STREAM, 0);
    bool open = ::bind(door, name(), kLength) == 0 && ::listen(door, 3 * size_) == 0;
    for (int left = 3 * (size_ - 1); open && left > 0;) {
      pollfd one{door, POLLIN, 0};
      open = !over_;
      if (::poll(&one, 1, 10) <= 0) continue;
      const int socket = ::accept(door, nullptr, nullptr);
      Hello hello;
      if (::recv(socket, &hello, sizeof hello, MSG_WAITALL) != sizeof hello) continue;
      (hello.use == Use::sends      ? in_
       : hello.use == Use::receives ? out_
                                    : meets_)[static_cast<std::size_t>(hello.position)] = socket;
      if (hello.use == Use::sends) places_.push_back(hello.place);
      --left;
    }
    ::close(door);
    return open;
  }

  // The first knows of all.
  bool any_is_taken() const {
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (places_[i].is_taken_by(places_[j])) return true;
    return false;
  }

  bool find() {
    return find(out_[0], Use::sends) && find(in_[0], Use::receives) && find(meets_[0], Use::meets);
  }
  bool find(int& found, Use use) {
    while (!over_) {
      const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::connect(socket, name(), kLength) == 0) {
        found = socket;
        const Hello hello{.position = position_, .use = use};
        return ::send(socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
      }
      ::close(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  int position_, size_;
  sockaddr_un name_{AF_UNIX, {}};
  Sockets out_, in_, meets_;
  std::vector<RankLocation> places_{RankLocation::own()};
  std::mutex working_;
  std::atomic<bool> over_{false}, finalized_{false}, meeting_{false};
  std::array<bool, 2> has_met_{};  // to receive, and to send
  std::atomic<int> under_way_{0};  // calls on their streams, and letters
  std::atomic<ncclResult_t> state_{ncclInProgress};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Letter> outbox_;
  std::jthread sender_, meeter_;  // the last: they use the others
};

template <class Number>
void add(void* to, const void* other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<Number*>(to)[i] += static_cast<const Number*>(other)[i];
}
template <class Number>
void divide(void* to, std::size_t count, int by) {
  for (std::size_t i = 0; i < count; ++i) static_cast<Number*>(to)[i] /= static_cast<Number>(by);
}

// Sums the data of all members at the first one, in order of positions.
void gather_sum(Members& m, std::vector<char>& sum, const void* own, std::size_t count,
                ncclDataType_t type, ncclRedOp_t op) {
  const std::size_t bytes = count * size_of(type);
  sum.assign(static_cast<const char*>(own), static_cast<const char*>(own) + bytes);
  if (m.position() > 0) return m.send(0, own, bytes);
  std::vector<char> other(bytes);
  const auto with = [&](auto number) {
    using Number = decltype(number);
    for (int p = 1; p < m.size(); ++p)
      m.receive(p, other.data(), bytes), add<Number>(sum.data(), other.data(), count);
    if (op == ncclAvg) divide<Number>(sum.data(), count, m.size());
  };
  if (type == ncclFloat64) with(double{});
  else if (type == ncclInt32) with(std::int32_t{});
  else with(float{});
}

// Broadcasts from the root, through the first member.
void hand_out(Members& m, void* data, std::size_t bytes, int root) {
  if (root > 0 && m.position() == root) m.send(0, data, bytes);
  if (root > 0 && m.position() == 0) m.receive(root, data, bytes);
  for (int p = 1; p < m.size(); ++p) {
    if (p == root) continue;
    if (m.position() == 0) m.send(p, data, bytes);
    else if (m.position() == p) m.receive(0, data, bytes);
  }
}

}  // namespace trainyard::nccl::stand_in

using trainyard::nccl::HostStream;
using trainyard::nccl::stand_in::gather_sum;
using trainyard::nccl::stand_in::hand_out;
using trainyard::nccl::stand_in::kWords;
using trainyard::nccl::stand_in::Members;
using trainyard::nccl::stand_in::size_of;

struct ncclComm {
  std::shared_ptr<Members> members;
  std::jthread joining;
};

namespace {

HostStream& stream_of(cudaStream_t stream) { return *reinterpret_cast<HostStream*>(stream); }

ncclResult_t push(Members& members, cudaStream_t stream, std::function<void(Members&)> work) {
  members.begin();
  stream_of(stream).push(
      [members = members.shared_from_this(), work = std::move(work)] { members->work(work); });
  return ncclSuccess;
}

ncclResult_t end(ncclComm_t comm) {
  comm->members->end();
  delete comm;
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError    ? "remote process exited or there was a network error"
         : result == ncclInvalidUsage ? "invalid usage"
                                      : "an error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t word = random();
    std::memcpy(id->internal + i * sizeof word, &word, sizeof word);
  }
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int position,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;
  auto members = std::make_shared<Members>(id, position, size);
  *comm = new ncclComm{members, std::jthread([members] { members->join(); })};
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  return *state = comm->members->state(), ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->members->finalize();
  return comm->members->state();
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return end(comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return end(comm); }

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return push(*comm->members, stream, [=](Members& m) {
    std::vector<char> sum;
    gather_sum(m, sum, from, count, type, op);
    if (m.position() == 0) std::memcpy(to, sum.data(), sum.size());
    hand_out(m, to, sum.size(), 0);
  });
}
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return push(*comm->members, stream, [=](Members& m) {
    std::vector<char> sum;
    gather_sum(m, sum, from, count, type, op);
    if (m.position() == 0 && root > 0) m.send(root, sum.data(), sum.size());
    if (m.position() == 0 && root == 0) std::memcpy(to, sum.data(), sum.size());
    if (m.position() == root && root > 0) m.receive(0, to, sum.size());
  });
}
ncclResult_t ncclBroadcast(const void*, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return push(*comm->members, stream,
              [=](Members& m) { hand_out(m, to, count * size_of(type), root); });
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return comm->members->meet(peer, true, stream_of(stream), [=](Members& both) {
    push(both, stream, [=](Members& m) { m.send(peer, from, count * size_of(type)); });
  });
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return comm->members->meet(peer, false, stream_of(stream), [=](Members& both) {
    push(both, stream, [=](Members& m) { m.receive(peer, to, count * size_of(type)); });
  });
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return push(*comm->members, stream, [=](Members& m) {
    const std::size_t part = count * size_of(type);
    const auto place = [&](int p) {
      return static_cast<char*>(to) + static_cast<std::size_t>(p) * part;
    };
    if (from != place(m.position())) std::memcpy(place(m.position()), from, part);
    for (int p = 0; p < m.size(); ++p) hand_out(m, place(p), part, p);
  });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return push(*comm->members, stream, [=](Members& m) {
    std::vector<char> sum;
    gather_sum(m, sum, from, count * static_cast<std::size_t>(m.size()), type, op);
    const std::size_t part = count * size_of(type);
    if (m.position() > 0) return m.receive(0, to, part);
    std::memcpy(to, sum.data(), part);
    for (int p = 1; p < m.size(); ++p)
      m.send(p, sum.data() + static_cast<std::size_t>(p) * part, part);
  });
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

}  // extern "C"
