// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/compression/kernels.h"

#include "core/compute/compression/cast.h"
#include "core/compute/compression/int8.h"
#include "core/compute/compression/random_k.h"
#include "core/compute/compression/sign.h"
#include "core/compute/compression/top_k.h"
#include "core/compute/ops.h"

namespace trainyard::compute::compression {
namespace {

// Returns the random indices that random_k sends; empty for other schemes.
RandomIndices places_of(const CompressionSpec& spec, std::int64_t elements) {
  if (spec.kind != Scheme::random_k) return {0, 0};
  return {elements, kept(spec, elements)};
}

template <class OneOp>
Shuffle shuffle_of(const OneOp& op) {
  return shuffle_of_step(op.seed, op.bucket,
                         static_cast<std::uint64_t>(*op.step.template as<double>()),
                         op.gradient.elements());
}

class Compress final : public Kernel {
 public:
  explicit Compress(const CompressGradient& op)
      : op_(op),
        random_places_(places_of(op.spec, op.gradient.elements())),
        magnitudes_(op.spec.kind == Scheme::top_k
                        ? static_cast<std::size_t>(op.gradient.elements()) + 1
                        : 0) {}

  void enqueue(Queue&) override {
    Gradient gradient(op_.gradient.as<float>(), op_.residual.as<float>(), op_.gradient.elements());
    encode(gradient, op_.encoded.data);
    *op_.squared_error.as<double>() = gradient.squared_error();
  }

 private:
  void encode(Gradient& gradient, std::byte* encoded) {
    switch (op_.spec.kind) {
      case Scheme::fp16: return encode_cast<Fp16>(gradient, encoded);
      case Scheme::bf16: return encode_cast<Bf16>(gradient, encoded);
      case Scheme::int8: return encode_int8(gradient, encoded);
      case Scheme::sign: return encode_sign(gradient, encoded);
      case Scheme::top_k:
        return encode_top_k(gradient, encoded, kept(op_.spec, gradient.elements()), magnitudes_);
      case Scheme::random_k:
        random_places_.draw(shuffle_of(op_));
        return encode_random_k(gradient, encoded, random_places_);
      case Scheme::none:
      case Scheme::power_sgd: return;
    }
  }

  CompressGradient op_;
  RandomIndices random_places_;
  std::vector<std::int32_t> magnitudes_;
};

class Decompress final : public Kernel {
 public:
  explicit Decompress(const DecompressGradient& op)
      : op_(op), random_places_(places_of(op.spec, op.gradient.elements())) {}

  void enqueue(Queue&) override {
    float* const gradient = op_.gradient.as<float>();
    const std::int64_t elements = op_.gradient.elements(),
                       part = op_.encoded.elements() / op_.parts;
    switch (op_.spec.kind) {
      case Scheme::fp16: return decode_cast<Fp16>(op_.encoded.data, gradient, elements);
      case Scheme::bf16: return decode_cast<Bf16>(op_.encoded.data, gradient, elements);
      case Scheme::random_k:
        random_places_.draw(shuffle_of(op_));
        return decode_random_k(op_.encoded.data, gradient, random_places_);
      default: std::fill_n(gradient, elements, 0.0F);
    }
    for (std::int64_t p = 0; p < op_.parts; ++p)
      add(op_.encoded.data + p * part, gradient, elements);
  }

 private:
  void add(const std::byte* encoded, float* gradient, std::int64_t elements) const {
    if (op_.spec.kind == Scheme::int8) add_int8(encoded, gradient, elements);
    if (op_.spec.kind == Scheme::sign) add_sign(encoded, gradient, elements);
    if (op_.spec.kind == Scheme::top_k) add_top_k(encoded, gradient, kept(op_.spec, elements));
  }

  DecompressGradient op_;
  RandomIndices random_places_;
};

}  // namespace

std::unique_ptr<Kernel> kernel(const CompressGradient& op) {
  return std::make_unique<Compress>(op);
}
std::unique_ptr<Kernel> kernel(const DecompressGradient& op) {
  return std::make_unique<Decompress>(op);
}

bool sum_halves(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                std::int64_t elements) {
  if (dtype == DType::fp16) sum_cast<Fp16>(destination, sources, elements);
  if (dtype == DType::bf16) sum_cast<Bf16>(destination, sources, elements);
  return dtype == DType::fp16 || dtype == DType::bf16;
}

}  // namespace trainyard::compute::compression
