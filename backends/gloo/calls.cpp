// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/gloo/calls.h"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>

#include "core/compute/combine.h"

namespace trainyard::gloo {
namespace {

using base::DType;
using base::Reduction;
using comm::CollectiveCall;

using Reduce = void (*)(void*, const void*, const void*, std::size_t);

template <Reduction reduction, DType dtype>
void choose(void* to, const void* a, const void* b, std::size_t elements) {
  compute::choose(reduction, dtype, static_cast<std::byte*>(to), static_cast<const std::byte*>(a),
                  static_cast<const std::byte*>(b), static_cast<std::int64_t>(elements));
}

// Returns Gloo's function for sum, and our own for min and max. In Gloo's min and max, the order of
// operands decides whether a NaN is kept.
template <class Number, DType dtype>
Reduce reduce_function(Reduction reduction) {
  if (reduction == Reduction::min) return choose<Reduction::min, dtype>;
  if (reduction == Reduction::max) return choose<Reduction::max, dtype>;
  return ::gloo::sum<Number>;
}

template <class Number, DType dtype>
void all_reduce(Group& group, const CollectiveCall& call) {
  ::gloo::AllreduceOptions options(group.context());
  options.setOutput(reinterpret_cast<Number*>(call.data), static_cast<std::size_t>(call.elements));
  options.setReduceFunction(reduce_function<Number, dtype>(call.reduction));
  ::gloo::allreduce(options);
  if (call.reduction == Reduction::mean)
    compute::divide(dtype, call.data, call.elements, group.size());
}

void broadcast(Group& group, const CollectiveCall& call) {
  ::gloo::BroadcastOptions options(group.context());
  options.setOutput(reinterpret_cast<char*>(call.data),
                    static_cast<std::size_t>(call.elements * base::size_of(call.dtype)));
  options.setRoot(call.root);
  ::gloo::broadcast(options);
}

void all_gather(Group& group, const CollectiveCall& call) {
  const std::int64_t members = group.size();
  std::vector<std::size_t> bytes;
  for (std::int64_t p = 0; p < members; ++p)
    bytes.push_back(
        static_cast<std::size_t>((call.elements / members + (p < call.elements % members ? 1 : 0)) *
                                 base::size_of(call.dtype)));
  ::gloo::AllgathervOptions options(group.context());
  options.setOutput(reinterpret_cast<char*>(call.data), std::move(bytes));
  ::gloo::allgatherv(options);
}

}  // namespace

bool supports(comm::CollectiveKind kind, Reduction, DType dtype) {
  if (kind == comm::CollectiveKind::reduce_scatter) return false;
  return kind != comm::CollectiveKind::all_reduce || dtype == DType::fp32 || dtype == DType::fp64;
}

void carry_out(Group& group, const CollectiveCall& call) {
  if (call.elements == 0 || group.size() == 1) return;
  switch (call.kind) {
    case comm::CollectiveKind::all_reduce:
      return call.dtype == DType::fp64 ? all_reduce<double, DType::fp64>(group, call)
                                       : all_reduce<float, DType::fp32>(group, call);
    case comm::CollectiveKind::broadcast: return broadcast(group, call);
    case comm::CollectiveKind::all_gather: return all_gather(group, call);
    // Never requested, because `supports` returns false for reduce_scatter.
    case comm::CollectiveKind::reduce_scatter: return;
  }
}

}  // namespace trainyard::gloo
