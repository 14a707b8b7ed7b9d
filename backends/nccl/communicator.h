// SPDX-License-Identifier: GPL-3.0-or-later
// Group of ranks as a non-blocking NCCL communicator. The caller polls long operations, so that
// they never delay an abort.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "backends/nccl/library.h"
#include "core/comm/collectives.h"

namespace trainyard::nccl {

class Communicator {
 public:
  // State of the operation that was started last. `ready`: NCCL has finished it. `wrong`: NCCL's
  // error message. If neither is set, the operation is in progress.
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

  // `join` and `begin` start an operation. They return an error message if NCCL refuses it. The
  // operation is complete when `look` returns ready.
  std::string join(const ncclUniqueId& id);
  std::string begin(const comm::CollectiveCall& one, cudaStream_t stream);
  Answer look();
  // Starts to finalize the communicator, so that peers still receive what was sent. The
  // finalization is complete when `look` returns ready.
  void finalize();
  // Destroys the communicator if its finalization is complete; otherwise aborts it. Later calls
  // have no effect.
  void end();

 private:
  ncclResult_t call(const comm::CollectiveCall& one, cudaStream_t stream);
  ncclResult_t broadcast(const comm::CollectiveCall& one, cudaStream_t stream);
  ncclResult_t call_with_unequal_shards(const comm::CollectiveCall& one, cudaStream_t stream);
  Answer state() const;
  // Returns NCCL's error message for a result; empty if the operation succeeded or is in progress.
  std::string words(ncclResult_t result) const;

  const Library& library_;
  const int position_, size_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  bool finalized_ = false, over_ = false;
};

}  // namespace trainyard::nccl
