// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient compression as in core/compute/compression, one scheme per file: all devices must read
// encoded data alike. Decoded values are bit-identical on all devices. So are encoded values,
// except the scale of signs, whose sum is added in another order.
#pragma once

#include "backends/cuda/module/kernels/top_k.h"
#include "core/compute/compression/int8.h"
#include "core/compute/compression/random_k.h"
#include "core/compute/compression/sign.h"

namespace trainyard::cuda {

using compression::Scheme;
using compression::Shuffle;

template <class Half>
void compress_cast(Stream& stream, const compute::CompressGradient& op, std::byte* scratch) {
  const Whole whole(op);
  sum_errors(stream, op, whole.elements, reinterpret_cast<double*>(scratch),
             [=, encoded = op.encoded.data] ON_DEVICE(std::int64_t i) {
               const float value = whole[i];
               const std::uint16_t half = Half::encode(value);
               store(encoded, i, half);
               return whole.sent(i, value, Half::decode(half));
             });
}

// Compresses to int8. A team (thread block) processes the numbers that share a scale.
inline void compress_int8(Stream& stream, const compute::CompressGradient& op, std::byte* scratch) {
  const Whole whole(op);
  const std::int64_t scales = compression::scales_of(whole.elements);
  auto* const errors = reinterpret_cast<double*>(scratch);
  for_teams(stream, scales, 0,
            [=, encoded = op.encoded.data] ON_DEVICE(const Team& team, std::int64_t at) {
              const std::int64_t first = at * compression::kScaled,
                                 end = first + compression::kScaled < whole.elements
                                           ? first + compression::kScaled
                                           : whole.elements;
              std::int32_t greatest = 0;
              for (std::int64_t i = first + team.rank; i < end; i += team.size) {
                const std::int32_t magnitude = compression::magnitude(whole[i]);
                greatest = magnitude > greatest ? magnitude : greatest;
              }
              const float scale = compression::int8_scale(static_cast<std::int32_t>(
                  team.first_maximum({static_cast<double>(greatest), 0}).value));
              if (team.rank == 0) store(encoded, at, scale);
              double error = 0;
              for (std::int64_t i = first + team.rank; i < end; i += team.size) {
                const float value = whole[i];
                const std::int8_t q =
                    scale > 0 ? compression::quantize(value, scale) : std::int8_t{0};
                encoded[4 * scales + i] = static_cast<std::byte>(q);
                error += whole.sent(i, value, rounded_product(static_cast<float>(q), scale));
              }
              error = team.sum(error);
              if (team.rank == 0) errors[at] = error;
            });
  sum_errors(stream, op, scales, errors + scales,
             [=] ON_DEVICE(std::int64_t at) { return errors[at]; });
}

// Compresses to signs. A thread processes the eight numbers of a byte. The scale is also stored in
// device memory, because the encoded data may be in host memory.
inline void compress_sign(Stream& stream, const compute::CompressGradient& op, std::byte* scratch) {
  const Whole whole(op);
  auto* const scale = reinterpret_cast<float*>(scratch);
  auto* const sums = reinterpret_cast<double*>(scratch + sizeof(double));
  std::byte* const encoded = op.encoded.data;
  sum_all<1>(
      stream, whole.elements, sums,
      [=] ON_DEVICE(std::int64_t i) { return Sums<1>{{std::fabs(static_cast<double>(whole[i]))}}; },
      [=] ON_DEVICE(const Sums<1>& all) {
        *scale = static_cast<float>(all.value[0] / static_cast<double>(whole.elements));
        store(encoded, 0, *scale);
      });
  sum_errors(stream, op, parts(whole.elements, 8), sums, [=] ON_DEVICE(std::int64_t at) {
    std::uint32_t signs = 0;
    double error = 0;
    for (std::int64_t i = 8 * at; i < 8 * at + 8 && i < whole.elements; ++i) {
      const float value = whole[i];
      const std::uint32_t sign = compression::sign_bit(value);
      signs |= sign >> (31 - (i - 8 * at));
      error += whole.sent(i, value, compression::with_sign(*scale, sign));
    }
    encoded[4 + at] = static_cast<std::byte>(signs);
    return error;
  });
}

// Copies the parameters of the step's permutation to device memory once. Kernels read them for each
// element, and the host writes them to memory that the device reads slowly.
template <class OneOp>
const Shuffle* shuffle_of(Stream& stream, const OneOp& op, std::byte* scratch) {
  auto* const shuffle = reinterpret_cast<Shuffle*>(scratch);
  for_each(stream, 1,
           [=, step = op.step, seed = op.seed, bucket = op.bucket,
            elements = op.gradient.elements()] ON_DEVICE(std::int64_t) {
             *shuffle = compression::shuffle_of_step(
                 seed, bucket, static_cast<std::uint64_t>(*as<double>(step)), elements);
           });
  return shuffle;
}

inline void compress_random_k(Stream& stream, const compute::CompressGradient& op,
                              std::byte* scratch) {
  const Whole whole(op);
  const std::int64_t k = op.encoded.elements();
  const Shuffle* const shuffle = shuffle_of(stream, op, scratch);
  sum_all<2>(
      stream, whole.elements, reinterpret_cast<double*>(scratch + sizeof(Shuffle)),
      [=, encoded = op.encoded.data] ON_DEVICE(std::int64_t i) {
        const float value = whole[i];
        const std::int64_t number = shuffle->number(i);
        if (number < k) store(encoded, number, value);
        return Sums<2>{
            {whole.sent_if(i, value, number < k), compression::is_finite(value) ? 0.0 : 1.0}};
      },
      [=, encoded = op.encoded.data,
       squared_error = op.squared_error] ON_DEVICE(const Sums<2>& all) {
        *as<double>(squared_error) = all.value[0];
        if (all.value[1] > 0) store(encoded, 0, compression::kNoNumber);
      });
}

// Returns a number of bytes of scratch memory that suffices for every compression scheme.
inline std::int64_t scratch_bytes(const compute::CompressGradient& op) {
  return static_cast<std::int64_t>(sizeof(Shuffle)) + bytes_of_sums(2) +
         TopKMemory::bytes(parts(op.gradient.elements(), kOfBlock));
}

template <class W>
void run(Stream& stream, const compute::CompressGradient& op, std::byte* scratch) {
  if (op.gradient.elements() == 0)
    return clear(stream, op.squared_error.data, op.squared_error.bytes());
  switch (op.spec.kind) {
    case Scheme::fp16: return compress_cast<compression::Fp16>(stream, op, scratch);
    case Scheme::bf16: return compress_cast<compression::Bf16>(stream, op, scratch);
    case Scheme::int8: return compress_int8(stream, op, scratch);
    case Scheme::sign: return compress_sign(stream, op, scratch);
    case Scheme::top_k:
      return compress_top_k(stream, op, compression::kept(op.spec, op.gradient.elements()),
                            scratch);
    case Scheme::random_k: return compress_random_k(stream, op, scratch);
    case Scheme::none:
    case Scheme::power_sgd: return;
  }
}

template <class Half>
void decompress_cast(Stream& stream, const compute::DecompressGradient& op) {
  for_each(stream, op.gradient.elements(),
           [=, encoded = op.encoded.data, gradient = op.gradient.as<float>()] ON_DEVICE(
               std::int64_t i) { gradient[i] = Half::decode(load<std::uint16_t>(encoded, i)); });
}

// Adds the encodings of all ranks (parts) to the gradient, in order. value(part, i) is number i of
// the part that begins at `part`.
template <class Value>
void add_parts(Stream& stream, const compute::DecompressGradient& op, Value value) {
  const std::int64_t bytes = op.encoded.elements() / op.parts;
  for_each(stream, op.gradient.elements(),
           [=, encoded = op.encoded.data, count = op.parts,
            gradient = op.gradient.as<float>()] ON_DEVICE(std::int64_t i) {
             float sum = 0;
             for (std::int64_t p = 0; p < count; ++p) sum += value(encoded + p * bytes, i);
             gradient[i] = sum;
           });
}

inline void decompress_top_k(Stream& stream, const compute::DecompressGradient& op) {
  const std::int64_t bytes = op.encoded.elements() / op.parts,
                     k = compression::kept(op.spec, op.gradient.elements());
  clear(stream, op.gradient.data, op.gradient.bytes());
  for (std::int64_t p = 0; p < op.parts; ++p)  // no index occurs twice in a part
    for_each(
        stream, k,
        [=, part = op.encoded.data + p * bytes, gradient = op.gradient.as<float>()] ON_DEVICE(
            std::int64_t i) { gradient[load<std::int32_t>(part, i)] += load<float>(part, k + i); });
}

inline void decompress_random_k(Stream& stream, const compute::DecompressGradient& op,
                                std::byte* scratch) {
  const std::int64_t k = op.encoded.elements();
  const Shuffle* const shuffle = shuffle_of(stream, op, scratch);
  for_each(
      stream, op.gradient.elements(),
      [=, encoded = op.encoded.data, gradient = op.gradient.as<float>()] ON_DEVICE(std::int64_t i) {
        const std::int64_t number = shuffle->number(i);
        gradient[i] = number < k ? load<float>(encoded, number) : 0;
      });
}

inline std::int64_t scratch_bytes(const compute::DecompressGradient&) { return sizeof(Shuffle); }

template <class W>
void run(Stream& stream, const compute::DecompressGradient& op, std::byte* scratch) {
  const std::int64_t scales = compression::scales_of(op.gradient.elements());
  switch (op.spec.kind) {
    case Scheme::fp16: return decompress_cast<compression::Fp16>(stream, op);
    case Scheme::bf16: return decompress_cast<compression::Bf16>(stream, op);
    case Scheme::int8:
      return add_parts(stream, op, [=] ON_DEVICE(const std::byte* part, std::int64_t i) {
        return rounded_product(static_cast<float>(static_cast<std::int8_t>(part[4 * scales + i])),
                               load<float>(part, i / compression::kScaled));
      });
    case Scheme::sign:
      return add_parts(stream, op, [] ON_DEVICE(const std::byte* part, std::int64_t i) {
        const bool negative = (static_cast<std::uint32_t>(part[4 + i / 8]) >> (i % 8) & 1U) != 0;
        return compression::with_sign(load<float>(part, 0), negative ? 0x80000000U : 0);
      });
    case Scheme::top_k: return decompress_top_k(stream, op);
    case Scheme::random_k: return decompress_random_k(stream, op, scratch);
    case Scheme::none:
    case Scheme::power_sgd: return;
  }
}

}  // namespace trainyard::cuda
