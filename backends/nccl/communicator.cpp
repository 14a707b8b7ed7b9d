// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/nccl/communicator.h"

namespace trainyard::nccl {
namespace {

using base::DType;
using comm::CollectiveCall;
using comm::CollectiveKind;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::fp64: return ncclFloat64;
    case DType::int32: return ncclInt32;
    case DType::fp16: return ncclFloat16;
    case DType::bf16: return ncclBfloat16;
    case DType::byte: return ncclUint8;
    default: return ncclFloat32;
  }
}

ncclRedOp_t operation(base::Reduction reduction) {
  return reduction == base::Reduction::mean ? ncclAvg : ncclSum;
}

}  // namespace

std::string Communicator::join(const ncclUniqueId& id) {
  const std::lock_guard lock(mutex_);
  if (over_ || is_alone()) return {};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return words(library_.join(&comm_, size_, id, position_, &config));
}

std::string Communicator::begin(const CollectiveCall& one, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  return over_ || is_alone() || one.elements == 0 ? std::string() : words(call(one, stream));
}

Communicator::Answer Communicator::look() {
  const std::lock_guard lock(mutex_);
  return over_ || comm_ == nullptr ? Answer{true, {}} : state();
}

void Communicator::finalize() {
  const std::lock_guard lock(mutex_);
  if (!over_ && !finalized_ && comm_ != nullptr)
    finalized_ = words(library_.finalize(comm_)).empty();
}

void Communicator::end() {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  over_ = true;
  if (comm_ == nullptr) return;
  if (finalized_ && state().ready) library_.destroy(comm_);
  else library_.abort(comm_);
}

Communicator::Answer Communicator::state() const {
  ncclResult_t state = ncclSuccess;
  if (const ncclResult_t asked = library_.state(comm_, &state); asked != ncclSuccess)
    return {false, words(asked)};
  return {state == ncclSuccess, words(state)};
}

// Starts an in-place call. The input of an all-gather and the output of a reduce-scatter are only
// this rank's shard of the buffer.
ncclResult_t Communicator::call(const CollectiveCall& one, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(one.elements),
             part = count / static_cast<std::size_t>(size_);
  const bool parts_alike = count % static_cast<std::size_t>(size_) == 0;
  std::byte* const own =
      one.data + static_cast<std::ptrdiff_t>(part) * position_ * base::size_of(one.dtype);
  switch (one.kind) {
    case CollectiveKind::all_reduce:
      return library_.all_reduce(one.data, one.data, count, type_of(one.dtype),
                                 operation(one.reduction), comm_, stream);
    case CollectiveKind::broadcast: return broadcast(one, stream);
    case CollectiveKind::all_gather:
      return parts_alike
                 ? library_.all_gather(own, one.data, part, type_of(one.dtype), comm_, stream)
                 : call_with_unequal_shards(one, stream);
    case CollectiveKind::reduce_scatter:
      return parts_alike ? library_.reduce_scatter(one.data, own, part, type_of(one.dtype),
                                                   operation(one.reduction), comm_, stream)
                         : call_with_unequal_shards(one, stream);
  }
  return ncclInvalidArgument;
}

// Starts a broadcast. A group of two ranks uses send and receive instead, as when pipeline stages
// pass activations.
ncclResult_t Communicator::broadcast(const CollectiveCall& one, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(one.elements);
  const ncclDataType_t type = type_of(one.dtype);
  if (size_ > 2)
    return library_.broadcast(one.data, one.data, count, type, one.root, comm_, stream);
  if (one.root == position_)
    return library_.send(one.data, count, type, 1 - position_, comm_, stream);
  return library_.receive(one.data, count, type, 1 - position_, comm_, stream);
}

// Starts an all-gather or reduce-scatter whose shards have different lengths, as one NCCL group
// call. For an all-gather, the owner of each shard broadcasts it. For a reduce-scatter, each shard
// is reduced to its owner.
ncclResult_t Communicator::call_with_unequal_shards(const CollectiveCall& one,
                                                    cudaStream_t stream) {
  if (const ncclResult_t begun = library_.group_start(); begun != ncclSuccess) return begun;
  std::byte* part = one.data;
  ncclResult_t result = ncclSuccess;
  for (int p = 0; p < size_; ++p) {
    const std::int64_t count = one.elements / size_ + (p < one.elements % size_ ? 1 : 0);
    const auto elements = static_cast<std::size_t>(count);
    const ncclResult_t given =
        one.kind == CollectiveKind::all_gather
            ? library_.broadcast(part, part, elements, type_of(one.dtype), p, comm_, stream)
            : library_.reduce(part, part, elements, type_of(one.dtype), operation(one.reduction), p,
                              comm_, stream);
    if (result == ncclSuccess) result = given;
    part += count * base::size_of(one.dtype);
  }
  const ncclResult_t ended = library_.group_end();
  return words(result).empty() ? ended : result;
}

std::string Communicator::words(ncclResult_t result) const {
  return result == ncclSuccess || result == ncclInProgress ? std::string()
                                                           : library_.error_string(result);
}

}  // namespace trainyard::nccl
