// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/model_weights.h"

#include "core/base/hash.h"
#include "core/session/checkpoint/checkpoint_pieces.h"

namespace trainyard::session {
namespace {

std::vector<std::byte> zeros(std::int64_t elements, base::DType dtype) {
  return std::vector<std::byte>(static_cast<std::size_t>(elements * base::size_of(dtype)));
}

compute::Tensor flat(base::DType dtype, std::vector<std::byte>& bytes) {
  if (bytes.empty()) return {};
  return {dtype, {std::ssize(bytes) / base::size_of(dtype)}, bytes.data()};
}

}  // namespace

base::DType weight_dtype(const experiment::Resolved& e) {
  return e.document.training.precision == experiment::Precision::fp64 ? base::DType::fp64
                                                                      : base::DType::fp32;
}

ModelWeights::ModelWeights(const experiment::Resolved& e)
    : dtype_(weight_dtype(e)),
      parameters_(zeros(e.model.elements, dtype_)),
      state_(zeros(e.model.state_elements, dtype_)) {}

compute::Tensor ModelWeights::parameters() { return flat(dtype_, parameters_); }
compute::Tensor ModelWeights::state() { return flat(dtype_, state_); }

std::string ModelWeights::parameters_xxh64() const { return base::hex(base::xxh64(parameters_)); }

ModelWeights initial_weights(const experiment::Resolved& e) {
  ModelWeights weights(e);
  model::initialize(e.model, e.document.training.seed, weights.parameters(), weights.state());
  return weights;
}

std::string to_safetensors(const model::Model& model, ModelWeights& weights) {
  return write_safetensors(pieces_of(model, spans_of(weights.tensors())));
}

}  // namespace trainyard::session
