// SPDX-License-Identifier: GPL-3.0-or-later
// Backend with shaped links, which joins the conformance suite beside the backend itself:
//
//   INSTANTIATE_TEST_SUITE_P(shaped_shm, TransportConformance,
//                            testing::Values(shaped(shm_backend())));
#pragma once

#include <unistd.h>

#include <map>
#include <mutex>

#include "core/comm/shaped_transport.h"
#include "tests/conformance/transport_backend.h"
#include "tests/drawings.h"

namespace trainyard::conformance {

// Links as fast as memory, so that the suite takes little longer, but slow enough to make waiting
// visible.
inline comm::DrawnLinks fast_links(int ranks) {
  topology::Topology drawing;
  drawing.hosts = {tests::drawn_host("host", ranks)};
  drawing.hosts[0].bus_bandwidth_bits_per_second = 80e9;
  drawing.hosts[0].bus_latency_seconds = 20e-6;
  return comm::drawn_links(topology::Network(drawing)).value();
}

// The file of the links, as a launcher makes it.
class LinksFile {
 public:
  explicit LinksFile(const Shape& shape)
      : fd_(comm::create_shaped_links(fast_links(shape.ranks), shape.channels).value()) {}
  ~LinksFile() { ::close(fd_); }
  LinksFile(const LinksFile&) = delete;
  LinksFile& operator=(const LinksFile&) = delete;
  auto open() const { return comm::ShapedLinks::open(fd_); }

 private:
  int fd_;
};

// Inner transports of each end, for backends that are asked whether they are connected.
class Within {
 public:
  void note(const Transport& end, Transport& within) {
    const std::lock_guard lock(mutex_);
    within_[&end] = &within;
  }
  Transport& of(const Transport& end) {
    const std::lock_guard lock(mutex_);
    return *within_.at(&end);
  }

 private:
  std::mutex mutex_;
  std::map<const Transport*, Transport*> within_;
};

inline Backend shaped(Backend backend) {
  const auto within = std::make_shared<Within>();
  const auto prepare = [within, inner = backend.prepare](const Shape& shape) -> Opener {
    return [within, opener = inner(shape), file = std::make_shared<LinksFile>(shape)](
               int rank, std::uint32_t generation) -> base::Result<std::unique_ptr<Transport>> {
      auto links = file->open();
      auto end = opener(rank, generation);
      if (!links || !end) return end;
      Transport& inside = **end;
      auto made = comm::ShapedTransport::make(std::move(*end), *links);
      if (made) within->note(**made, inside);
      return made;
    };
  };
  if (backend.connected)
    backend.connected = [within, inner = backend.connected](Transport& end) {
      return inner(within->of(end));
    };
  backend.name = "shaped_" + backend.name;
  backend.prepare = prepare;
  return backend;
}

}  // namespace trainyard::conformance
