// SPDX-License-Identifier: GPL-3.0-or-later
// Substitute for the streams of a GPU.
#pragma once

#include <memory>
#include <vector>

#include "core/compute/streams.h"
#include "tests/backends/nccl/stand_in/host_stream.h"

namespace trainyard::nccl {

class HostStreams : public compute::Streams {
 public:
  base::Result<void> enter() override { return {}; }
  base::Result<void*> stream() override {
    return streams_.emplace_back(std::make_unique<HostStream>(streams_)).get();
  }
  base::Result<void> then(void* stream, void (*done)(void*), void* of) override {
    static_cast<HostStream*>(stream)->push([done, of] { done(of); });
    return {};
  }
  void finish(void* stream) override { static_cast<HostStream*>(stream)->finish(); }
  void finish_all() {
    for (const auto& stream : streams_) stream->finish();
  }

 private:
  HostStream::All streams_;
};

}  // namespace trainyard::nccl
