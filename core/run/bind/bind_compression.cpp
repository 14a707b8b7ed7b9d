// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/bind_compression.h"

#include <algorithm>

#include "core/compute/ops.h"
#include "core/model/power_sgd.h"

namespace trainyard::run {
namespace {

using compute::Tensor;
using compute::compression::Scheme;
using plan::Access;
using plan::Op;
using plan::OpKind;

using Tensors = std::function<Tensor(const Access&)>;

class CompressionBinder {
 public:
  CompressionBinder(const Op& op, const plan::RankPlan& plan, const Recipe& recipe,
                    const Tensors& tensor)
      : op_(op), plan_(plan), recipe_(recipe), tensor_(tensor) {}

  compute::Op compress() const {
    return compute::CompressGradient{tensor_(op_.reads.front()),
                                     written("residual"),
                                     written("encoded"),
                                     written("squared_errors"),
                                     read("rate"),
                                     recipe_.compression,
                                     seed(),
                                     bucket()};
  }

  compute::Op decompress() const {
    const Tensor encoded = read("encoded"), gradient = written("grads");
    const std::int64_t of_rank =
        compute::compression::encoded_elements(recipe_.compression, gradient.elements());
    return compute::DecompressGradient{encoded,
                                       gradient,
                                       read("rate"),
                                       recipe_.compression,
                                       of_rank > 0 ? encoded.elements() / of_rank : 1,
                                       seed(),
                                       bucket()};
  }

  compute::Op power_sgd(const model::Model& model, std::int64_t ranks) const {
    const Access& span = op_.kind == OpKind::encode
                             ? op_.reads.front()
                             // access to the bucket: in the gradient or in the residual
                             : op_.writes.front();
    auto layout = model::power_sgd_layout(model, span.first, span.count, recipe_.compression.rank);
    if (op_.kind == OpKind::decode) {
      const Tensor right = op_.reads.size() > 1 && named(op_.reads[1], "encoded")
                               ? tensor_(op_.reads[1])
                               : Tensor{base::DType::fp32, {0}, nullptr};
      return compute::PowerSgdDecode{tensor_(op_.reads[0]),
                                     basis(layout),
                                     right,
                                     tensor_(span),
                                     written("residual"),
                                     guess(written("guess")),
                                     written("squared_errors"),
                                     std::move(layout),
                                     ranks};
    }
    if (const Tensor basis = written("basis"); !basis.empty())
      return compute::PowerSgdRight{tensor_(span), read("encoded"), basis, written("encoded"),
                                    std::move(layout)};
    return compute::PowerSgdLeft{tensor_(span),
                                 written("residual"),
                                 guess(read("guess")),
                                 written("encoded"),
                                 std::move(layout),
                                 seed(),
                                 bucket()};
  }

 private:
  std::uint64_t seed() const { return static_cast<std::uint64_t>(recipe_.seed); }
  std::uint32_t bucket() const { return static_cast<std::uint32_t>(op_.bucket); }
  bool named(const Access& access, const char* buffer) const {
    return plan_.buffers[access.buffer.index()].name == buffer;
  }

  // Returns the tensor for the op's access to `buffer`; empty if the op does not access this
  // buffer.
  Tensor in(const std::vector<Access>& accesses, const char* buffer) const {
    const auto at = std::find_if(accesses.begin(), accesses.end(),
                                 [&](const Access& access) { return named(access, buffer); });
    return at == accesses.end() ? Tensor{} : tensor_(*at);
  }
  Tensor read(const char* buffer) const { return in(op_.reads, buffer); }
  Tensor written(const char* buffer) const { return in(op_.writes, buffer); }

  // Returns the initial guess for power_sgd, or an empty fp32 tensor if the bucket has no matrices.
  static Tensor guess(const Tensor& found) {
    return found.empty() ? Tensor{base::DType::fp32, {0}, nullptr} : found;
  }
  Tensor basis(const compute::compression::PowerSgdLayout& layout) const {
    return layout.right_elements > 0
               ? read("basis")
               : Tensor{base::DType::fp32, {layout.left_elements}, tensor_(op_.reads[0]).data};
  }

  const Op& op_;
  const plan::RankPlan& plan_;
  const Recipe& recipe_;
  const Tensors& tensor_;
};

// Returns the number of ranks in the group that reduces the op's bucket.
std::int64_t ranks_of(const Op& op, const plan::Program& program,
                      const std::vector<plan::Group>& groups) {
  const auto at = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& other) {
    return plan::communicates(other.kind) && other.bucket == op.bucket;
  });
  return at == program.ops.end() ? 1
                                 : std::ssize(groups[static_cast<std::size_t>(at->group)].ranks);
}

}  // namespace

compute::Op compression_op(const Op& op, const plan::Program& program, const plan::RankPlan& plan,
                           const model::Model& model, const Recipe& recipe,
                           const std::vector<plan::Group>& groups, const Tensors& tensor) {
  const CompressionBinder binder(op, plan, recipe, tensor);
  if (recipe.compression.kind == Scheme::power_sgd)
    return binder.power_sgd(model, ranks_of(op, program, groups));
  return op.kind == OpKind::encode ? binder.compress() : binder.decompress();
}

double compression_ratio(const plan::RankPlan& plan) {
  const plan::BufferId gradients = plan.buffer("grads"), encoded = plan.buffer("encoded");
  const int train = plan.program("train");
  if (!gradients.valid() || !encoded.valid() || train < 0) return 0;
  std::int64_t bytes = 0;
  for (const Op& op : plan.programs[static_cast<std::size_t>(train)].ops)
    for (const Access& write : op.writes)
      if (op.kind == OpKind::encode && write.buffer == encoded)
        bytes += write.count * base::size_of(plan.buffers[encoded.index()].dtype);
  return bytes > 0 ? static_cast<double>(plan.buffers[gradients.index()].bytes()) /
                         static_cast<double>(bytes)
                   : 0;
}

}  // namespace trainyard::run
