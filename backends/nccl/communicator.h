// SPDX-License-Identifier: GPL-3.0-or-later
// One group of ranks as NCCL knows it, non-blocking: what takes time is asked about, so that an
// abort is never behind it.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "backends/nccl/library.h"
#include "core/comm/collectives.h"

namespace trainyard::nccl {

class Communicator {
 public:
  // `ready`, where NCCL has done what it was asked, or a Problem's words; nothing: it is at it.
  struct Answer {
    bool ready = false;
    std::string wrong;
    bool is_under_way() const { return !ready && wrong.empty(); }
  };

  Communicator(const Library& library, int position, int size)
      : library_(library), position_(position), size_(size) {}
  ~Communicator() { end(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return size_; }
  bool is_alone() const { return size_ == 1; }

  // Both begin, and are through when `look` says so; words: it was refused.
  std::string join(const ncclUniqueId& id);
  std::string begin(const comm::CollectiveCall& one, cudaStream_t stream);
  Answer look();
  // Begins the end of one that shall bring its peers what it sent; likewise through when `look`
  // says so.
  void finalize();
  // Destroys it where that is through, and aborts it otherwise; of several who end it, the first.
  void end();

 private:
  ncclResult_t call(const comm::CollectiveCall& one, cudaStream_t stream);
  ncclResult_t broadcast(const comm::CollectiveCall& one, cudaStream_t stream);
  ncclResult_t of_parts(const comm::CollectiveCall& one, cudaStream_t stream);
  Answer state() const;
  std::string words(ncclResult_t result) const;  // empty where it is under way, or done

  const Library& library_;
  const int position_, size_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  bool finalized_ = false, over_ = false;
};

}  // namespace trainyard::nccl
